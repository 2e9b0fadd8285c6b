/** API keys: what programs authenticate with. */

import { z } from 'zod'
import { editFrom, inWords, type KeyLimits, NO_KEY_LIMITS } from '../../../core/limits/limits.ts'
import { durationMs, instantMs } from '../../../core/task/task.ts'
import { utc } from '../../../core/values/utc.ts'
import { createKey, endKey, findKeys, getKey, limitKey, replaceKey } from '../../../operations/keys/keys.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { ApiKeyRow } from '../../../store/access/api-keys.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { isTaskPosition as isIdPosition } from '../../http/next-link.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import {
  type ApiKey,
  ApiKeyPage,
  ApiKey as ApiKeySchema,
  CreateApiKey,
  EditApiKey,
  ListApiKeys,
  NewApiKey,
  RotateApiKey,
} from './schemas.ts'

const tags = ['keys']
const byId = z.object({ id: Uuid })
const DEFAULT_OVERLAP = '1d'

const create = {
  operationId: 'createKey',
  tags,
  summary: 'Create an API key',
  description:
    'The key is returned once and stored as a hash. A key never has more rights than the one that creates it.',
  body: CreateApiKey,
  response: { 201: NewApiKey, ...problems(404, 409, 413, 415) },
}

const list = {
  operationId: 'listKeys',
  tags,
  summary: 'List API keys, newest first',
  description: 'The keys of the project. Admins of the installation also see the keys of the installation.',
  querystring: ListApiKeys,
  response: { 200: ApiKeyPage, ...problems() },
}

const read = {
  operationId: 'getKey',
  tags,
  summary: 'Read an API key, without the key itself',
  params: byId,
  response: { 200: ApiKeySchema, ...problems(404) },
}

const edit = {
  operationId: 'editKey',
  tags,
  summary: 'Change the limits of an API key',
  description:
    'Omitted limits do not change; null removes a limit. The change takes effect on all nodes within two seconds.',
  params: byId,
  body: EditApiKey,
  response: { 200: ApiKeySchema, ...problems(404, 413, 415) },
}

const rotate = {
  operationId: 'rotateKey',
  tags,
  summary: 'Replace an API key, keeping the old one valid for a while',
  params: byId,
  body: RotateApiKey,
  response: { 201: NewApiKey, ...problems(404, 409, 413, 415) },
}

const revoke = {
  operationId: 'revokeKey',
  tags,
  summary: 'Revoke an API key',
  description:
    'All nodes refuse the key within two seconds, and close its streams and the connections of its workers.',
  params: byId,
  response: { 204: z.null().describe('The key is revoked.'), ...problems(404) },
}

export function keyRoutes(app: App): void {
  app.post(
    '/v1/keys',
    { schema: create, config: { access: 'administer', isOfQueue: true } },
    async ({ body, context }, reply) => {
      const { expiresAt, queues = null, networks = null, limits, ...wanted } = body
      const { key, ...row } = await createKey(context, {
        ...wanted,
        queues,
        networks,
        limits: limits ? { ...NO_KEY_LIMITS, ...editFrom<KeyLimits>(limits) } : null,
        expiresAt: msOf(expiresAt),
      })
      reply.header('location', `/v1/keys/${row.id}`)
      return reply.code(201).send({ ...present(row, context.clock.now()), key })
    },
  )

  app.get('/v1/keys', { schema: list, config: { access: 'administer' } }, async ({ query, context }) => {
    const { limit, cursor } = query
    const [before = null] = decodeCursor(cursor, isIdPosition) ?? []
    const rows = await findKeys(context, { before, limit: limit + 1 })
    const now = context.clock.now()
    return pageOf(rows, { limit, present: (row) => present(row, now), position: ({ id }) => [id] })
  })

  app.get('/v1/keys/:id', { schema: read, config: { access: 'administer' } }, async ({ params, context }) =>
    present(await getKey(context, params.id), context.clock.now()),
  )

  app.patch(
    '/v1/keys/:id',
    { schema: edit, config: { access: 'administer', isUncounted: true } },
    async ({ params, body, context }) =>
      present(await limitKey(context, params.id, body.limits), context.clock.now()),
  )

  app.post(
    '/v1/keys/:id/rotate',
    { schema: rotate, config: { access: 'administer', isOfQueue: true } },
    async (request, reply) => {
      const { params, body, context } = request
      const { key, ...row } = await replaceKey(context, params.id, {
        overlapMs: durationMs(body?.overlap ?? DEFAULT_OVERLAP),
        expiresAt: msOf(body?.expiresAt),
      })
      reply.header('location', `/v1/keys/${row.id}`)
      return reply.code(201).send({ ...present(row, context.clock.now()), key })
    },
  )

  app.delete(
    '/v1/keys/:id',
    { schema: revoke, config: { access: 'administer' } },
    async ({ params, context }, reply) => {
      await endKey(context, params.id)
      return reply.code(204).send(null)
    },
  )
}

const msOf = (instant: string | null | undefined): number | null =>
  instant == null ? null : instantMs(instant)
const utcOf = (at: number | null): string | null => (at === null ? null : utc(at))

function present(row: ApiKeyRow, now: number): ApiKey {
  const { id, name, role, hint, createdBy, rotatedTo, queues, networks } = row
  const isOver = row.expiresAt !== null && row.expiresAt <= now
  return {
    id,
    name,
    role,
    project: row.projectName,
    state: row.revokedAt !== null ? 'revoked' : isOver ? 'expired' : 'active',
    hint,
    queues: queues && [...queues],
    networks: networks && [...networks],
    limits: row.limits && inWords(row.limits),
    createdAt: utc(row.createdAt),
    createdBy,
    expiresAt: utcOf(row.expiresAt),
    revokedAt: utcOf(row.revokedAt),
    rotatedTo,
    lastUsedAt: utcOf(row.lastUsedAt),
  }
}
