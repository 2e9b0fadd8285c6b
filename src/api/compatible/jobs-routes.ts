/**
 * Jobs, as four calls: submit, retrieve all of a user, delete, and the history of one. A job is a task that pings its
 * `code_location`, or runs it if it is a file; a user is the owner of tasks, and an execution is a run. These routes only
 * translate to the operations of `/v1`; docs/reference/compatibility.md describes them.
 */

import { z } from 'zod'
import { targetOfAction } from '../../core/action/action.ts'
import { maskedAction } from '../../core/action/masked-action.ts'
import { invalidInput, type Problem, Refusal } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import type { RunState } from '../../core/run/run.ts'
import { parseInstant } from '../../core/schedule/instant.ts'
import type { Schedule } from '../../core/schedule/schedule.ts'
import type { TaskInput } from '../../core/task/task-input.ts'
import { parseDuration } from '../../core/values/duration.ts'
import { utc } from '../../core/values/utc.ts'
import type { Context } from '../../operations/context.ts'
import { createTask } from '../../operations/tasks/create-task.ts'
import { endTask } from '../../operations/tasks/end-task.ts'
import { listBriefly } from '../../operations/tasks/read-tasks.ts'
import { parse } from '../../operations/validation/parse.ts'
import { type RunRow, runsOfTask } from '../../store/history/runs.ts'
import type { BriefTask } from '../../store/tasks/brief-tasks.ts'
import { findTasks, type TaskRow } from '../../store/tasks/tasks.ts'
import type { App } from '../app.ts'
import { decodeCursor, isInstant, pageOf } from '../http/cursor.ts'
import { isTaskPosition, linkNext, NextPage } from '../http/next-link.ts'
import { headers, idempotencyOf, traceparentOf } from '../http/request.ts'
import { problems } from '../http/schemas/problem-document.ts'
import { CreateTask } from '../resources/tasks/schemas.ts'
import {
  DeletedJob,
  DeleteJob,
  type EXECUTION_STATUSES,
  Execution,
  GetExecHistory,
  Job,
  RetrieveAllJobs,
  SubmitJob,
} from './jobs-schemas.ts'

/** Number of jobs or executions per page. */
export const JOB_LIST_LIMIT = 1_000

const tags = ['compatibility']

const submit = {
  operationId: 'submitJob',
  tags,
  summary: 'Submit a job that calls a URL or runs a file',
  headers: headers.repeatable,
  body: SubmitJob,
  response: { 200: Job, ...problems(413, 415) },
}

const retrieve = {
  operationId: 'retrieveAllJobs',
  tags,
  summary: `List the jobs of a user, newest first, in pages of ${JOB_LIST_LIMIT}`,
  querystring: NextPage,
  body: RetrieveAllJobs,
  response: { 200: z.array(Job), ...problems(413, 415) },
}

const remove = {
  operationId: 'deleteJob',
  tags,
  summary: 'Delete a job of a user',
  body: DeleteJob,
  response: { 200: DeletedJob, ...problems(404, 413, 415) },
}

const history = {
  operationId: 'getExecHistory',
  tags,
  summary: `List the executions of a job, latest first, in pages of ${JOB_LIST_LIMIT}`,
  querystring: NextPage,
  body: GetExecHistory,
  response: { 200: z.array(Execution), ...problems(404, 413, 415) },
}

export function jobRoutes(app: App): void {
  app.post(
    '/submit_job',
    { schema: submit, config: { access: 'edit', isOfQueue: true } },
    async (request, reply) => {
      try {
        const input = toCreateTask(request.body)
        const traceparent = traceparentOf(request)
        const repeat = idempotencyOf(request)
        const { body, isReplay } = await createTask(request.context, { input, traceparent, repeat, present })
        if (isReplay) reply.header('idempotent-replayed', 'true')
        return body as Job
      } catch (error) {
        throw error instanceof Refusal ? inItsWords(error, request.body) : error
      }
    },
  )

  app.post(
    '/retrieve_all_jobs',
    { schema: retrieve, config: { access: 'read' } },
    async ({ body, query, context }, reply) => {
      const before = decodeCursor(query.cursor, isTaskPosition)?.[0]
      const rows = await listBriefly(context, { owner: body.user_id, before, limit: JOB_LIST_LIMIT + 1 })
      const page = pageOf(rows, { limit: JOB_LIST_LIMIT, present, position: ({ id }) => [id] })
      linkNext(reply, '/retrieve_all_jobs', page.nextCursor)
      return page.items
    },
  )

  app.post(
    '/delete_job',
    { schema: remove, config: { access: 'edit', isOfQueue: true } },
    async ({ body: { user_id, job_id }, context }) => {
      // Another user's job is reported as not found.
      if ((await getJob(context, job_id)).owner !== user_id) noJob(job_id)
      await endTask(context, job_id, 'delete')
      return { user_id, job_id }
    },
  )

  app.post(
    '/get_exec_history',
    { schema: history, config: { access: 'read' } },
    async ({ body: { job_id }, query, context }, reply) => {
      await getJob(context, job_id)
      const [scheduledFor, id] = decodeCursor(query.cursor, isExecutionPosition) ?? []
      const before = scheduledFor === undefined || id === undefined ? undefined : { scheduledFor, id }
      const statement = runsOfTask({
        projectId: context.projectId,
        taskId: job_id,
        isBrief: true,
        before,
        limit: JOB_LIST_LIMIT + 1,
      })
      const rows = await context.db.snapshot((tx) => tx.run(statement), { inOrder: true })
      const page = pageOf(rows, {
        limit: JOB_LIST_LIMIT,
        present: presentExecution,
        position: (row) => [row.scheduledFor, row.id],
      })
      linkNext(reply, '/get_exec_history', page.nextCursor)
      return page.items
    },
  )
}

const isExecutionPosition = (value: unknown): value is readonly [number, string] =>
  Array.isArray(value) &&
  value.length === 2 &&
  isInstant(value[0]) &&
  typeof value[1] === 'string' &&
  isUuid(value[1])

function toCreateTask({ user_id, schedule, code_location }: SubmitJob): TaskInput {
  const task = {
    owner: user_id,
    action: isUuid(code_location)
      ? { type: 'exec', file: code_location }
      : { type: 'ping', url: code_location },
    schedule: readSchedule(schedule.trim()),
  }
  const parsed = parse(CreateTask, task, 'body')
  if (!parsed.ok) throw invalidInput(parsed.problems)
  return parsed.value
}

/**
 * Reads an instant, an interval, or else a cron expression, whose parser gives the most helpful error for text that is none of
 * these.
 */
function readSchedule(text: string): unknown {
  if (parseInstant(text).ok) return { type: 'once', at: text }
  if (parseDuration(text).ok) return { type: 'every', interval: text }
  return { type: 'cron', expression: text, timezone: 'UTC' }
}

const FIELDS: readonly (readonly [prefix: string, field: string])[] = [
  ['/owner', '/user_id'],
  ['/action', '/code_location'],
  ['/schedule', '/schedule'],
]

/** Returns the error with the field names of this interface. */
function inItsWords(refusal: Refusal, { schedule }: SubmitJob): Refusal {
  if (refusal.problems.length === 0) return refusal
  return invalidInput(
    refusal.problems.map(translated).map(({ pointer, detail }) => ({
      pointer,
      detail: pointer === '/schedule' && isOfNoForm(schedule.trim()) ? `${detail}; ${FORMS}` : detail,
    })),
  )
}

const FORMS =
  'a schedule is a cron expression such as */5 * * * *, an interval such as 1h, or an instant such as 2026-11-16T09:00:00Z'

const isOfNoForm = (text: string) =>
  !parseInstant(text).ok && !parseDuration(text).ok && !/^(@\w+|\S+(\s+\S+){4,5})$/.test(text)

function translated({ pointer, detail }: Problem): Problem {
  return { pointer: FIELDS.find(([prefix]) => pointer.startsWith(prefix))?.[1] ?? pointer, detail }
}

/** Returns the task of a job; if there is none, throws an error in the terms of this interface. */
async function getJob(context: Context, id: string): Promise<TaskRow> {
  const [row] = await context.db.run(findTasks({ projectId: context.projectId, id, limit: 1 }))
  return row ?? noJob(id)
}

function noJob(id: string): never {
  throw new Refusal('not_found', `Job ${id} does not exist.`)
}

function present({ id, owner, definition, openRun, nextAt }: BriefTask): Job {
  const next = openRun?.scheduledFor ?? nextAt
  return {
    user_id: owner ?? '',
    job_id: id,
    schedule: writtenSchedule(definition.schedule),
    code_location: targetOfAction(maskedAction(definition.action)),
    next_execution: next === null ? null : utc(next),
  }
}

/** Returns the schedule in the form that `submit_job` accepts, if it has one. */
function writtenSchedule(schedule: Schedule): string {
  switch (schedule.type) {
    case 'once':
      return schedule.at
    case 'every':
    case 'delay':
      return schedule.interval
    case 'cron':
      return schedule.expression
    case 'daily':
      return `${schedule.minute} ${schedule.hour} * * *`
    case 'manual':
      return ''
    default:
      return JSON.stringify(schedule)
  }
}

const STATUS: Readonly<Record<RunState, (typeof EXECUTION_STATUSES)[number]>> = {
  pending: 'SCHEDULED',
  running: 'RUNNING',
  retrying: 'RETRYING',
  completed: 'COMPLETED',
  permanently_failed: 'FAILED',
  cancelled: 'CANCELLED',
  skipped: 'SKIPPED',
}

function presentExecution({ id, taskId, state, scheduledFor, startedAt, endedAt }: RunRow): Execution {
  return {
    job_id: taskId,
    execution_id: id,
    status: STATUS[state],
    scheduled_for: utc(scheduledFor),
    started_at: startedAt === null ? null : utc(startedAt),
    ended_at: endedAt === null ? null : utc(endedAt),
  }
}
