/**
 * The `/tasks` interface: a command is a sleep, `recurring` is a delay after each run, and every task shows
 * one of four statuses. A thin translation onto the operations of `/v1`; docs/reference/compatibility.md
 * has the table of statuses.
 */
import { z } from 'zod'
import { parseDuration } from '../../core/duration.ts'
import { Refusal } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import type { TaskState } from '../../core/task.ts'
import { findTasks, type TaskRow } from '../../store/tasks.ts'
import type { App } from '../app.ts'
import type { Context } from '../operations/context.ts'
import { createTasks } from '../operations/create-tasks.ts'
import { getTask, notFound } from '../operations/read-tasks.ts'
import { utc } from '../present.ts'
import { traceparentOf } from '../request.ts'
import { ProblemDocument } from '../schemas/problem-document.ts'
import { CreateTask } from '../schemas/task.ts'
import { Instant } from '../schemas/values.ts'

/** The list has no pages; it ends here. */
export const LIST_LIMIT = 1_000

const Duration = z.string().superRefine((text, context) => {
  const parsed = parseDuration(text)
  if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
})

const ScheduleTaskRequest = z
  .strictObject({
    command: Duration.describe('How long to sleep, such as 5s.'),
    start_at: Instant.nullish().describe('Default now.'),
    recurring: Duration.nullish().describe('How long after each run the next one starts.'),
  })
  .meta({ id: 'ScheduleTaskRequest' })

const TaskResponse = z
  .object({
    id: z.string(),
    status: z.enum(['SCHEDULED', 'PENDING', 'RUNNING', 'FINISHED']),
    start_at: z.string(),
    recurring: z.string(),
    command: z.string(),
  })
  .meta({ id: 'TaskResponse' })
type TaskResponse = z.output<typeof TaskResponse>

const STATUS: Readonly<Record<TaskState, TaskResponse['status']>> = {
  scheduled: 'SCHEDULED',
  paused: 'SCHEDULED',
  pending: 'PENDING',
  running: 'RUNNING',
  finished: 'FINISHED',
  cancelled: 'FINISHED',
}

export function compatibleTaskRoutes(app: App, context: Context): void {
  const tags = ['compatibility']
  const problem = { '4xx': ProblemDocument, '5xx': ProblemDocument }

  app.post(
    '/tasks',
    {
      schema: {
        tags,
        summary: 'Schedule a sleep',
        body: z.unknown().meta({ $ref: '#/components/schemas/ScheduleTaskRequest' }),
        response: { 200: TaskResponse, ...problem },
      },
    },
    async (request) => {
      const input = toCreateTask(request.body)
      let created: TaskRow | undefined
      await createTasks(context, {
        inputs: [input],
        traceparent: traceparentOf(request),
        repeat: null,
        pointer: () => '',
        present: ([row]) => {
          created = row
          return null
        },
      }).catch(asBadRequest)
      return present(created as TaskRow)
    },
  )

  app.get(
    '/tasks',
    {
      schema: {
        tags,
        summary: `The newest ${LIST_LIMIT} tasks`,
        response: { 200: z.array(TaskResponse), ...problem },
      },
    },
    async () =>
      (await context.db.run(findTasks({ projectId: context.projectId, limit: LIST_LIMIT }))).map(present),
  )

  app.get(
    '/tasks/:id',
    {
      schema: {
        tags,
        summary: 'Read a task',
        params: z.object({ id: z.string().max(200) }),
        response: { 200: TaskResponse, ...problem },
      },
    },
    async ({ params }) =>
      present(isUuid(params.id) ? await getTask(context, params.id) : notFound(params.id)),
  )
}

/** This interface knows one answer to a bad request, 400. */
function toCreateTask(body: unknown): CreateTask {
  const parsed = ScheduleTaskRequest.safeParse(body)
  if (!parsed.success) {
    const problems = parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => ({ pointer: `/${key}`, detail: 'is not a known field' }))
        : [
            {
              pointer: issue.path.map((part) => `/${String(part)}`).join(''),
              detail: issue.message.replace(/^Invalid input: /, ''),
            },
          ],
    )
    throw badRequest(problems)
  }
  const { command, start_at, recurring } = parsed.data
  const task = CreateTask.safeParse({
    action: { type: 'sleep', duration: command },
    ...(start_at ? { startAt: start_at } : {}),
    ...(recurring ? { schedule: { type: 'delay', interval: recurring } } : {}),
  })
  if (task.success) return task.data
  const names: Readonly<Record<string, string>> = {
    action: '/command',
    schedule: '/recurring',
    startAt: '/start_at',
  }
  throw badRequest(
    task.error.issues.map(({ path, message }) => ({
      pointer: names[String(path[0])] ?? '',
      detail: message,
    })),
  )
}

const badRequest = (problems: { pointer: string; detail: string }[]) =>
  new Refusal(
    'malformed_request',
    `${problems.map(({ pointer, detail }) => `${pointer === '' ? 'the body' : pointer} ${detail}`).join('; ')}.`,
    { problems },
  )

function asBadRequest(error: unknown): never {
  if (!(error instanceof Refusal) || error.code !== 'invalid_input') throw error
  const problems = error.problems.map(({ detail }) => ({ pointer: '/start_at', detail }))
  throw new Refusal('malformed_request', error.message.replace(/^\S+/, '/start_at'), { problems })
}

function present(row: TaskRow): TaskResponse {
  const { action, schedule, startAt } = row.definition
  const started = row.openRun?.scheduledFor ?? row.nextAt
  const given = startAt ?? (schedule.type === 'once' ? schedule.at : utc(row.createdAt))
  return {
    id: row.id,
    status: STATUS[row.state],
    start_at: started === null ? given : utc(started),
    recurring: schedule.type === 'delay' || schedule.type === 'every' ? schedule.interval : '',
    command: action.type === 'sleep' ? action.duration : `${action.type} ${action.url}`,
  }
}
