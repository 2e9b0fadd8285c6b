/** The runs and attempts of one task, and triggers of new runs. */

import { z } from 'zod'
import { isUuid } from '../../../core/ids.ts'
import type { RunState } from '../../../core/run/run.ts'
import type { Context } from '../../../operations/context.ts'
import { triggerTask } from '../../../operations/runs/trigger-task.ts'
import { getTask } from '../../../operations/tasks/read-tasks.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import { attemptsOfTask } from '../../../store/history/attempts.ts'
import { runsOfTask } from '../../../store/history/runs.ts'
import type { App } from '../../app.ts'
import { decodeCursor, isInstant, pageOf } from '../../http/cursor.ts'
import { headers, idempotencyOf } from '../../http/request.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { sendCreated } from '../runs/created.ts'
import { presentAttempt, presentRun } from '../runs/present.ts'
import { AttemptPage, ListAttempts, ListRunsOfTask, Run, RunPage } from '../runs/schemas.ts'
import { TriggerTask } from './schemas.ts'

const tags = ['runs']
const byId = z.object({ id: Uuid })

const trigger = {
  operationId: 'triggerTask',
  tags,
  summary: 'Run a task now',
  description:
    'The run is due now, even if the task is paused, and does not count towards `maxRuns`. The body can override fields for this run; ' +
    '`GET /v1/runs/{id}` shows them.',
  params: byId,
  headers: headers.repeatable,
  body: TriggerTask.nullish(),
  response: { 201: Run, ...problems(404, 409, 413, 415) },
}

const listRuns = {
  operationId: 'listRunsOfTask',
  tags,
  summary: 'List runs of a task, latest first',
  params: byId,
  querystring: ListRunsOfTask,
  response: { 200: RunPage, ...problems(404) },
}

const listAttempts = {
  operationId: 'listAttemptsOfTask',
  tags,
  summary: 'List attempts of a task, latest run first',
  params: byId,
  querystring: ListAttempts,
  response: { 200: AttemptPage, ...problems(404) },
}

export function taskRunRoutes(app: App): void {
  app.post(
    '/v1/tasks/:id/trigger',
    { schema: trigger, config: { access: 'operate', isOfQueue: true } },
    async (request, reply) => {
      const answer = await triggerTask(request.context, {
        taskId: request.params.id,
        override: request.body ?? null,
        retryOf: null,
        repeat: idempotencyOf(request),
        present: presentRun,
      })
      return sendCreated(reply, answer)
    },
  )

  app.get(
    '/v1/tasks/:id/runs',
    { schema: listRuns, config: { access: 'read' } },
    async ({ params, query, context }) => {
      const { limit, state, cursor } = query
      return runsOfOneTask(context, { taskId: params.id, state, from: null, to: null, limit, cursor })
    },
  )

  app.get(
    '/v1/tasks/:id/attempts',
    { schema: listAttempts, config: { access: 'read' } },
    async ({ params, query, context }) => {
      const { db, projectId } = context
      const { limit } = query
      const position = decodeCursor(query.cursor, isAttemptPosition)
      const before = position && { scheduledFor: position[0], runId: position[1], number: position[2] }
      const { id: taskId } = await getTask(context, params.id)
      const statement = attemptsOfTask({ projectId, taskId, before, limit: limit + 1 })
      const rows = await db.snapshot((tx) => tx.run(statement), { inOrder: true })
      return pageOf(rows, {
        limit,
        present: presentAttempt,
        position: ({ scheduledFor, runId, number }) => [scheduledFor, runId, number],
      })
    },
  )
}

interface RunsOfOneTask {
  readonly taskId: string
  readonly state: RunState | undefined
  readonly from: number | null
  readonly to: number | null
  readonly limit: number
  readonly cursor: string | undefined
}

/** Returns a page of the runs of one task, ordered by due instant. */
export async function runsOfOneTask(context: Context, { cursor, limit, ...query }: RunsOfOneTask) {
  const position = decodeCursor(cursor, isRunPosition)
  const before = position && { scheduledFor: position[0], id: position[1] }
  await getTask(context, query.taskId)
  const { db, projectId } = context
  const statement = runsOfTask({ ...query, projectId, before, limit: limit + 1 })
  const rows = await db.snapshot((tx) => tx.run(statement), { inOrder: true })
  return pageOf(rows, { limit, present: presentRun, position: ({ scheduledFor, id }) => [scheduledFor, id] })
}

type RunPosition = readonly [scheduledFor: number, runId: string]
type AttemptPosition = readonly [...RunPosition, number: number]

const isRun = (value: readonly unknown[]) =>
  isInstant(value[0]) && typeof value[1] === 'string' && isUuid(value[1])

const isRunPosition = (value: unknown): value is RunPosition =>
  Array.isArray(value) && value.length === 2 && isRun(value)

const MAX_ATTEMPTS = 32_767

const isAttemptPosition = (value: unknown): value is AttemptPosition =>
  Array.isArray(value) &&
  value.length === 3 &&
  isRun(value) &&
  Number.isInteger(value[2]) &&
  value[2] >= 0 &&
  value[2] <= MAX_ATTEMPTS
