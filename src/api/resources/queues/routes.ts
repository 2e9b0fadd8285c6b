import { z } from 'zod'
import { utc } from '../../../core/values/utc.ts'
import { getQueue, limitQueue, pauseQueue, readQueues } from '../../../operations/queues/queues.ts'
import { NoBody } from '../../../operations/validation/values.ts'
import type { QueueRow } from '../../../store/queues/queues.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { QueueName } from '../tasks/schemas.ts'
import { EditQueue, Queue, QueueList, ReadQueues } from './schemas.ts'

const tags = ['queues']
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

function present({ pausedAt, oldest, createdAt, ...queue }: QueueRow): Queue {
  return {
    ...queue,
    isPaused: pausedAt !== null,
    pausedAt: pausedAt === null ? null : utc(pausedAt),
    oldest: oldest === null ? null : utc(oldest),
    createdAt: utc(createdAt),
  }
}
