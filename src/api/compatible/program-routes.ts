/**
 * Tasks that run an uploaded program and are identified by numbers: create one, upload its file to a signed address, and read
 * its status. These routes only translate to the operations of `/v1`; docs/reference/compatibility.md describes them.
 */
import type { FastifyRequest } from 'fastify'
import { invalidInput, type Problem, Refusal } from '../../core/errors.ts'
import { utc } from '../../core/values/utc.ts'
import type { Context } from '../../operations/context.ts'
import { UPLOAD_HOURS, uploadPath } from '../../operations/files/addresses.ts'
import { findFile, stateOf } from '../../operations/files/files.ts'
import { triggerTask } from '../../operations/runs/trigger-task.ts'
import { createNumberedTask, findNumberedTask } from '../../operations/tasks/numbered-task.ts'
import { pauseTask, resumeTask } from '../../operations/tasks/pause-task.ts'
import { attemptTimes } from '../../store/history/attempts.ts'
import { pauseNow } from '../../store/tasks/why.ts'
import type { App } from '../app.ts'
import { headers, idempotencyOf, traceparentOf } from '../http/request.ts'
import { problems } from '../http/schemas/problem-document.ts'
import {
  CreateProgramTask,
  DEFAULT_RETRIES,
  FileStatus,
  NamedProgramTask,
  ProgramTask,
  UpdateProgramTask,
  UploadUrl,
} from './program-schemas.ts'
import { presentProgram } from './program-status.ts'

/** Number of attempts of a task to list, the latest ones. */
const MAX_ATTEMPTS = 1_000

const tags = ['compatibility']

const create = {
  operationId: 'createProgramTask',
  tags,
  summary: 'Create a task that runs a program',
  description:
    'The task waits until its file is uploaded to the address that `POST /signurl/create` returns.',
  headers: headers.repeatable,
  body: CreateProgramTask,
  response: { 200: ProgramTask, ...problems(409, 413, 415) },
}

const status = {
  operationId: 'readProgramTask',
  tags,
  summary: 'Read a task that runs a program, and the history of its attempts',
  body: NamedProgramTask,
  response: { 200: ProgramTask, ...problems(404, 413, 415) },
}

const update = {
  operationId: 'updateProgramTask',
  tags,
  summary: 'Rerun a task, or prevent it from running',
  body: UpdateProgramTask,
  response: { 200: ProgramTask, ...problems(404, 409, 413, 415) },
}

const signUrl = {
  operationId: 'signUploadUrl',
  tags,
  summary: 'Create a signed address for uploading the file of a task',
  body: NamedProgramTask,
  response: { 200: UploadUrl, ...problems(404, 409, 413, 415) },
}

const fileStatus = {
  operationId: 'readFileStatus',
  tags,
  summary: 'Read whether the file of a task was uploaded',
  body: NamedProgramTask,
  response: { 200: FileStatus, ...problems(404, 413, 415) },
}

export function programRoutes(app: App, publicUrl: string | null): void {
  app.post('/task/create', { schema: create, config: { access: 'edit' } }, async (request, reply) => {
    const { schedule_at, total_retry, tracing_id } = request.body
    try {
      const { body, isReplay } = await createNumberedTask(request.context, {
        fields: {
          ...(schedule_at ? { schedule: { type: 'once', at: schedule_at } } : {}),
          ...(tracing_id ? { tracingId: tracing_id } : {}),
          retry: { limit: total_retry ?? DEFAULT_RETRIES },
          onWorkerLoss: 'count',
        },
        traceparent: traceparentOf(request),
        repeat: idempotencyOf(request),
        present: (row) => presentProgram(row, { attempts: [], isFileReady: false, awaitsFile: true }),
      })
      if (isReplay) reply.header('idempotent-replayed', 'true')
      return body as ProgramTask
    } catch (error) {
      throw error instanceof Refusal ? inItsWords(error) : error
    }
  })

  app.post('/task/status', { schema: status, config: { access: 'read' } }, async ({ body, context }) =>
    readProgram(context, body.id),
  )

  app.post('/task/update', { schema: update, config: { access: 'operate' } }, async ({ body, context }) => {
    await setProducible(context, body.id, body.is_producible)
    return readProgram(context, body.id)
  })

  app.post('/signurl/create', { schema: signUrl, config: { access: 'edit' } }, async (request) => {
    const { context, body } = request
    const { fileId } = await findNumberedTask(context, body.id)
    if (stateOf(await findFile(context, fileId)) === 'ready')
      throw new Refusal('file_ready', `The file of task ${body.id} was already uploaded.`)
    const expiresAt = context.clock.now() + UPLOAD_HOURS * 3_600_000
    const path = await uploadPath(context, fileId, expiresAt)
    return { id: body.id, url: `${publicUrl ?? ownUrl(request)}${path}`, expires_at: utc(expiresAt) }
  })

  app.post('/file/status', { schema: fileStatus, config: { access: 'read' } }, async ({ body, context }) => {
    const { fileId } = await findNumberedTask(context, body.id)
    return { id: body.id, file_uploaded: stateOf(await findFile(context, fileId)) === 'ready' }
  })
}

const ownUrl = ({ protocol, host }: FastifyRequest) => `${protocol}://${host}`

async function readProgram(context: Context, number: number): Promise<ProgramTask> {
  const { task, fileId } = await findNumberedTask(context, number)
  const [file, attempts, [pause]] = await Promise.all([
    findFile(context, fileId),
    context.db.run(attemptTimes({ taskId: task.id, limit: MAX_ATTEMPTS })),
    context.db.run(pauseNow(task.id)),
  ])
  const facts = { attempts, isFileReady: stateOf(file) === 'ready', awaitsFile: pause?.awaitsFiles ?? false }
  return presentProgram(task, facts)
}

/**
 * Pauses a task that has neither ended nor a run in progress, or makes it run: resumes it if it is paused, and runs it again if
 * it has ended. Any other task stays as it is.
 */
async function setProducible(context: Context, number: number, isProducible: boolean): Promise<void> {
  const { task } = await findNumberedTask(context, number)
  const [pause] = await context.db.run(pauseNow(task.id))
  const isPaused = task.pausedAt !== null && !pause?.awaitsFiles
  if (!isProducible && task.openRun === null && task.state !== 'finished') await pauseTask(context, task.id)
  else if (isProducible && isPaused) await resumeTask(context, task.id)
  else if (isProducible && (task.state === 'finished' || task.state === 'cancelled'))
    await triggerTask(context, {
      taskId: task.id,
      override: null,
      retryOf: null,
      repeat: null,
      present: () => null,
    })
}

const FIELDS: readonly (readonly [prefix: string, field: string])[] = [
  ['/schedule', '/schedule_at'],
  ['/retry', '/total_retry'],
  ['/tracingId', '/tracing_id'],
]

/** Returns the error with the field names of this interface. */
function inItsWords(refusal: Refusal): Refusal {
  if (refusal.problems.length === 0) return refusal
  return invalidInput(refusal.problems.map(translated))
}

const translated = ({ pointer, detail }: Problem): Problem => ({
  pointer: FIELDS.find(([prefix]) => pointer.startsWith(prefix))?.[1] ?? pointer,
  detail,
})
