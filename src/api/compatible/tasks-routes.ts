/**
 * The `/tasks` interface: a command is a sleep, `recurring` is a delay after each run, and every task has one of four statuses.
 * These routes only translate to the operations of `/v1`; docs/reference/compatibility.md has the table of statuses. Every
 * invalid request gets status 400.
 */

import type { FastifyError } from 'fastify'
import { z } from 'zod'
import { type Action, targetOfAction } from '../../core/action/action.ts'
import { maskedAction } from '../../core/action/masked-action.ts'
import { invalidInput, type Problem, Refusal, type RefusalCode, sentence } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import type { TaskState } from '../../core/task/task.ts'
import type { TaskInput } from '../../core/task/task-input.ts'
import { utc } from '../../core/values/utc.ts'
import { createTask } from '../../operations/tasks/create-task.ts'
import { getTask, listBriefly, notFound } from '../../operations/tasks/read-tasks.ts'
import { parse } from '../../operations/validation/parse.ts'
import type { BriefTask } from '../../store/tasks/brief-tasks.ts'
import type { App } from '../app.ts'
import { decodeCursor, pageOf } from '../http/cursor.ts'
import { refuse, toRefusal } from '../http/errors.ts'
import { isTaskPosition, linkNext, NextPage } from '../http/next-link.ts'
import { headers, idempotencyOf, traceparentOf } from '../http/request.ts'
import { problems } from '../http/schemas/problem-document.ts'
import { CreateTask } from '../resources/tasks/schemas.ts'
import { ScheduleTaskRequest, TaskResponse } from './tasks-schemas.ts'

/** Number of tasks per page. */
export const LIST_LIMIT = 1_000

const tags = ['compatibility']
const { 422: _, 503: __, ...usual } = problems()

const schedule = {
  operationId: 'scheduleCompatibleTask',
  tags,
  summary: 'Schedule a sleep',
  headers: headers.repeatable,
  body: ScheduleTaskRequest,
  response: { 200: TaskResponse, ...usual },
}

const list = {
  operationId: 'listCompatibleTasks',
  tags,
  summary: `List all tasks, newest first, in pages of ${LIST_LIMIT}`,
  querystring: NextPage,
  response: { 200: z.array(TaskResponse), ...usual },
}

const read = {
  operationId: 'getCompatibleTask',
  tags,
  summary: 'Read a task',
  params: z.object({ id: z.string() }),
  response: { 200: TaskResponse, ...usual, 404: problems(404)[404] },
}

export function compatibleTaskRoutes(app: App): void {
  app.setErrorHandler((error: FastifyError, request, reply) =>
    refuse(inItsWords(toRefusal(error, request)), request, reply),
  )

  app.post(
    '/tasks',
    { schema: schedule, config: { access: 'edit', isOfQueue: true } },
    async (request, reply) => {
      const { body, isReplay } = await createTask(request.context, {
        input: toCreateTask(request.body),
        traceparent: traceparentOf(request),
        repeat: idempotencyOf(request),
        present,
      })
      if (isReplay) reply.header('idempotent-replayed', 'true')
      return body as TaskResponse
    },
  )

  app.get('/tasks', { schema: list, config: { access: 'read' } }, async ({ query, context }, reply) => {
    const before = decodeCursor(query.cursor, isTaskPosition)?.[0]
    const rows = await listBriefly(context, { before, limit: LIST_LIMIT + 1 })
    const page = pageOf(rows, { limit: LIST_LIMIT, present, position: ({ id }) => [id] })
    linkNext(reply, '/tasks', page.nextCursor)
    return page.items
  })

  app.get('/tasks/:id', { schema: read, config: { access: 'read' } }, async ({ params: { id }, context }) =>
    present(isUuid(id) ? await getTask(context, id) : notFound(id.slice(0, 100))),
  )
}

function toCreateTask({ command, start_at, recurring }: ScheduleTaskRequest): TaskInput {
  const task = {
    action: { type: 'sleep', duration: command },
    ...(start_at ? { startAt: start_at } : {}),
    ...(recurring ? { schedule: { type: 'delay', interval: recurring } } : {}),
  }
  const parsed = parse(CreateTask, task, 'body')
  if (!parsed.ok) throw invalidInput(parsed.problems)
  return parsed.value
}

const TRANSLATED: Partial<Record<RefusalCode, RefusalCode>> = {
  invalid_input: 'malformed_request',
  unsupported_media_type: 'malformed_request',
  payload_too_large: 'malformed_request',
  idempotency_key_reused: 'malformed_request',
  unavailable: 'internal',
  database_read_only: 'internal',
  database_full: 'internal',
  database_overloaded: 'internal',
}

/** Returns the error with the statuses and field names of this interface. */
function inItsWords(refusal: Refusal): Refusal {
  const code = TRANSLATED[refusal.code]
  if (code === undefined) return refusal
  const problems = refusal.problems.map(translated)
  return new Refusal(code, problems.length > 0 ? sentence(problems) : refusal.message, { problems })
}

const FIELDS: readonly (readonly [prefix: string, field: string])[] = [
  ['/action', '/command'],
  ['/schedule/at', '/start_at'],
  ['/schedule', '/recurring'],
  ['/startAt', '/start_at'],
]

function translated({ pointer, detail }: Problem): Problem {
  const field = FIELDS.find(([prefix]) => pointer.startsWith(prefix))?.[1]
  return { pointer: field ?? pointer, detail }
}

const STATUS: Readonly<Record<TaskState, TaskResponse['status']>> = {
  scheduled: 'SCHEDULED',
  paused: 'SCHEDULED',
  pending: 'PENDING',
  running: 'RUNNING',
  finished: 'FINISHED',
  cancelled: 'FINISHED',
}

function present(row: BriefTask): TaskResponse {
  const { action, schedule, startAt } = row.definition
  const started = row.openRun?.scheduledFor ?? row.nextAt
  const given = startAt ?? (schedule.type === 'once' ? schedule.at : utc(row.createdAt))
  return {
    id: row.id,
    status: STATUS[row.state],
    start_at: started === null ? given : utc(started),
    recurring: schedule.type === 'delay' || schedule.type === 'every' ? schedule.interval : '',
    command: commandOf(action),
  }
}

/** Describes the action of a task in the single `command` field of this interface. */
function commandOf(action: Action): string {
  if (action.type === 'sleep') return action.duration
  return `${action.type} ${targetOfAction(maskedAction(action))}`
}
