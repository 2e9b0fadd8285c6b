/** Subscriptions: webhooks that report how runs end. */

import { z } from 'zod'
import { maskedUrl } from '../../../core/action/masked-action.ts'
import { isUuid } from '../../../core/ids.ts'
import { formatDuration } from '../../../core/values/duration.ts'
import { utc } from '../../../core/values/utc.ts'
import type { Context } from '../../../operations/context.ts'
import {
  changeSubscription,
  createSubscription,
  getSubscription,
  mayChange,
  removeSubscription,
  wakeSubscription,
} from '../../../operations/subscriptions/subscriptions.ts'
import { NoBody, Uuid } from '../../../operations/validation/values.ts'
import {
  type DeliveryError,
  findSubscriptions,
  type SubscriptionRow,
} from '../../../store/events/subscriptions.ts'
import type { SubscriptionTester } from '../../../transport/subscription-tester.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import {
  CreatedSubscription,
  CreateSubscription,
  EditSubscription,
  ListSubscriptions,
  ResumeSubscription,
  Subscription,
  SubscriptionPage,
  SubscriptionTest,
} from './schemas.ts'

const tags = ['events']
const byId = z.object({ id: Uuid })

const create = {
  operationId: 'createSubscription',
  tags,
  summary: 'Create a subscription',
  description:
    'Each event is sent as a POST at least once, in order for each task, and signed as specified by Standard Webhooks. An event that is not answered with a 2xx status is retried ' +
    'with increasing delays; later events of the same task wait for it.',
  body: CreateSubscription,
  response: { 201: CreatedSubscription, ...problems(409, 413, 415) },
}

const list = {
  operationId: 'listSubscriptions',
  tags,
  summary: 'List subscriptions, oldest first',
  querystring: ListSubscriptions,
  response: { 200: SubscriptionPage, ...problems() },
}

const read = {
  operationId: 'getSubscription',
  tags,
  summary: 'Read a subscription and its delivery position',
  params: byId,
  response: { 200: Subscription, ...problems(404) },
}

const edit = {
  operationId: 'editSubscription',
  tags,
  summary: 'Change a subscription',
  description:
    'A failing subscription is retried immediately. A disabled subscription stays disabled until it is resumed.',
  params: byId,
  body: EditSubscription,
  response: { 200: Subscription, ...problems(404, 413, 415) },
}

const remove = {
  operationId: 'deleteSubscription',
  tags,
  summary: 'Delete a subscription',
  params: byId,
  response: { 204: z.null(), ...problems(404, 413, 415) },
}

const resume = {
  operationId: 'resumeSubscription',
  tags,
  summary: 'Resume a subscription where it stopped, or from another position',
  params: byId,
  body: ResumeSubscription,
  response: { 200: Subscription, ...problems(404, 413, 415) },
}

const test = {
  operationId: 'testSubscription',
  tags,
  summary: 'Send a test event to a subscription and return the response',
  description:
    'The event has the type belfry.test and the form of an event about a completed run. It is signed like every other event; filters do not apply. The node that receives this request sends it ' +
    'once, immediately, even if the subscription is failing or disabled. The delivery position does not change.',
  params: byId,
  body: NoBody,
  response: { 200: SubscriptionTest, ...problems(404, 413, 415) },
}

export function subscriptionRoutes(app: App, tester: SubscriptionTester): void {
  app.post(
    '/v1/subscriptions',
    { schema: create, config: { access: 'edit' } },
    async ({ body, context }, reply) => {
      const row = await createSubscription(context, body)
      reply.header('location', `/v1/subscriptions/${row.id}`)
      return reply.code(201).send({ ...present(row, context), secret: row.secret })
    },
  )

  app.get(
    '/v1/subscriptions',
    { schema: list, config: { access: 'read' } },
    async ({ query: { limit, cursor }, context }) => {
      const [after = null] = decodeCursor(cursor, isPosition) ?? []
      const { db, projectId } = context
      const rows = await db.run(findSubscriptions({ projectId, after, limit: limit + 1 }))
      return pageOf(rows, { limit, present: (row) => present(row, context), position: ({ id }) => [id] })
    },
  )

  app.get(
    '/v1/subscriptions/:id',
    { schema: read, config: { access: 'read' } },
    async ({ params, context }) => present(await getSubscription(context, params.id), context),
  )

  app.patch(
    '/v1/subscriptions/:id',
    { schema: edit, config: { access: 'edit' } },
    async ({ params, body, context }) => present(await changeSubscription(context, params.id, body), context),
  )

  app.delete(
    '/v1/subscriptions/:id',
    { schema: remove, config: { access: 'edit' } },
    async ({ params, context }, reply) => {
      await removeSubscription(context, params.id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/v1/subscriptions/:id/resume',
    { schema: resume, config: { access: 'operate' } },
    async ({ params, body, context }) =>
      present(await wakeSubscription(context, params.id, body?.after), context),
  )

  app.post(
    '/v1/subscriptions/:id/test',
    { schema: test, config: { access: 'operate' } },
    async ({ params, context }): Promise<SubscriptionTest> => {
      const tested = await tester.send(await getSubscription(context, params.id))
      const { eventId, isTaken, answer, durationMs, error } = tested
      const { status = null, body = null } = answer ?? {}
      return { eventId, delivered: isTaken, status, body, durationMs, error }
    },
  )
}

const isPosition = (value: unknown): value is readonly [id: string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && isUuid(value[0])

const utcOrNull = (at: number | null) => (at === null ? null : utc(at))

const errorOf = (error: DeliveryError | null) =>
  error && { code: error.code, message: error.message, at: utc(error.at) }

/** Failures of the subscription as a whole take precedence over failures of single tasks. */
function failureOf({ failures, disabledAt, failingSince, retryAt, lastError, held }: SubscriptionRow) {
  const failing = held.filter((task) => task.failures > 0)
  const isWhole = failures > 0 || disabledAt !== null
  if (isWhole || failing.length === 0)
    return {
      failures,
      failingSince: utcOrNull(failingSince),
      retryAt: isWhole && disabledAt === null ? utcOrNull(retryAt) : null,
      lastError: errorOf(lastError),
    }
  const retries = failing.flatMap((task) => task.retryAt ?? [])
  const latest = failing.toSorted((a, b) => (b.lastError?.at ?? 0) - (a.lastError?.at ?? 0))[0]
  return {
    failures: Math.max(...failing.map((task) => task.failures)),
    failingSince: utc(Math.min(...failing.map((task) => task.failingSince))),
    retryAt: retries.length === 0 ? null : utc(Math.min(...retries)),
    lastError: errorOf(latest?.lastError ?? null),
  }
}

/** The address of a receiver may contain a token. Only callers who could also set it see it. */
function present(row: SubscriptionRow, context: Context): Subscription {
  const { lastEventId, lastEventAt, disabledAt } = row
  const failure = failureOf(row)
  return {
    id: row.id,
    name: row.name,
    url: mayChange(context, row) ? row.url : maskedUrl(row.url),
    filter: row.filter as Subscription['filter'],
    batchSize: row.batchSize,
    giveUpAfter: formatDuration(row.giveUpAfterMs),
    state: disabledAt !== null ? 'disabled' : failure.failures > 0 ? 'failing' : 'active',
    position: row.position,
    delivered: row.delivered,
    lastEvent:
      lastEventId === null || lastEventAt === null ? null : { id: lastEventId, endedAt: utc(lastEventAt) },
    ...failure,
    disabledAt: utcOrNull(disabledAt),
    held: row.held.map((task) => ({
      taskId: task.target ? null : task.taskId,
      target: task.target ?? null,
      failingSince: utc(task.failingSince),
      failures: task.failures,
      retryAt: utcOrNull(task.retryAt),
      lastError: errorOf(task.lastError),
      position: task.position,
    })),
    gap: row.gap && { from: utc(row.gap.from), to: utc(row.gap.to), at: utc(row.gap.at) },
    createdAt: utc(row.createdAt),
    updatedAt: utc(row.updatedAt),
  }
}
