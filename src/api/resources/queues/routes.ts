import { z } from 'zod'
import { isUuid } from '../../../core/ids.ts'
import { utc } from '../../../core/values/utc.ts'
import {
  getQueue,
  limitQueue,
  pauseQueue,
  readQueues,
  readWaiting,
} from '../../../operations/queues/queues.ts'
import { NoBody } from '../../../operations/validation/values.ts'
import type { QueueRow } from '../../../store/queues/queues.ts'
import type { App } from '../../app.ts'
import { decodeCursor, encodeCursor, isInstant, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentRun } from '../runs/present.ts'
import { RunPage } from '../runs/schemas.ts'
import { QueueName } from '../tasks/schemas.ts'
import { EditQueue, Queue, QueueList, ReadQueues, ReadWaiting } from './schemas.ts'

const tags = ['queues']
/** The maximum of a smallint, the type of the column. */
const MAX_PRIORITY = 32_767
const params = z.object({ name: QueueName })

const list = {
  operationId: 'listQueues',
  tags,
  summary: 'List queues by name',
  querystring: ReadQueues,
  response: { 200: QueueList, ...problems() },
}

const read = {
  operationId: 'getQueue',
  tags,
  summary: 'Read a queue',
  params,
  response: { 200: Queue, ...problems(404) },
}

const waiting = {
  operationId: 'listWaitingRuns',
  tags,
  summary: 'List the waiting runs of a queue, in the order in which they start',
  description:
    'Runs are ordered by priority, then by due time. Later runs start before a run that waits for a label, a handler, a limit or a target.',
  params,
  querystring: ReadWaiting,
  response: { 200: RunPage, ...problems(404) },
}

const edit = {
  operationId: 'editQueue',
  tags,
  summary: 'Set the concurrency limit and the rate limit of a queue',
  params,
  body: EditQueue,
  response: { 200: Queue, ...problems(413, 415) },
}

const pause = {
  operationId: 'pauseQueue',
  tags,
  summary: 'Pause a queue',
  params,
  body: NoBody,
  response: { 200: Queue, ...problems(413, 415) },
}

const resume = { ...pause, operationId: 'resumeQueue', summary: 'Resume a queue' }

export function queueRoutes(app: App): void {
  app.get(
    '/v1/queues',
    { schema: list, config: { access: 'read' } },
    async ({ query: { q, limit, cursor }, context }) => {
      const [after = null] = decodeCursor(cursor, isPosition) ?? []
      const rows = await readQueues(context, { part: q ?? null, after, limit: limit + 1 })
      return pageOf(rows, { limit, present, position: ({ name }) => [name] })
    },
  )

  app.get('/v1/queues/:name', { schema: read, config: { access: 'read' } }, async ({ params, context }) =>
    present(await getQueue(context, params.name)),
  )

  app.get(
    '/v1/queues/:name/runs',
    { schema: waiting, config: { access: 'read' } },
    async ({ params: { name }, query: { limit, cursor }, context }) => {
      const [priority, us, id] = decodeCursor(cursor, isWaitingPosition) ?? []
      const after =
        priority === undefined || us === undefined || id === undefined ? null : { priority, us, id }
      const { rows, next } = await readWaiting(context, { name, after, limit })
      return {
        items: rows.map(presentRun),
        nextCursor: next && encodeCursor([next.priority, next.us, next.id]),
      }
    },
  )

  app.patch(
    '/v1/queues/:name',
    { schema: edit, config: { access: 'edit', isOfQueue: true } },
    async ({ params, body, context }) => present(await limitQueue(context, params.name, body)),
  )

  app.post(
    '/v1/queues/:name/pause',
    { schema: pause, config: { access: 'operate', isOfQueue: true } },
    async ({ params, context }) => present(await pauseQueue(context, params.name, true)),
  )

  app.post(
    '/v1/queues/:name/resume',
    { schema: resume, config: { access: 'operate', isOfQueue: true } },
    async ({ params, context }) => present(await pauseQueue(context, params.name, false)),
  )
}

const isPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && value.length === 1 && QueueName.safeParse(value[0]).success

type WaitingPosition = readonly [priority: number, us: number, runId: string]

function isWaitingPosition(value: unknown): value is WaitingPosition {
  if (!Array.isArray(value) || value.length !== 3) return false
  const [priority, us, id] = value
  return (
    Number.isInteger(priority) &&
    Math.abs(priority) <= MAX_PRIORITY &&
    Number.isInteger(us) &&
    isInstant(Math.floor(us / 1_000)) &&
    typeof id === 'string' &&
    isUuid(id)
  )
}

function present({ pausedAt, oldest, createdAt, ...queue }: QueueRow): Queue {
  return {
    ...queue,
    isPaused: pausedAt !== null,
    pausedAt: pausedAt === null ? null : utc(pausedAt),
    oldest: oldest === null ? null : utc(oldest),
    createdAt: utc(createdAt),
  }
}
