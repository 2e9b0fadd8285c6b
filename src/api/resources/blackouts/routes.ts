/** Blackouts: windows in which no scheduled run of the project starts. */

import { z } from 'zod'
import { type Span, spanAfter, spanAt } from '../../../core/policy/blackout.ts'
import { utc } from '../../../core/values/utc.ts'
import {
  allBlackouts,
  createBlackout,
  endBlackout,
  getBlackout,
} from '../../../operations/projects/blackouts.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { BlackoutRow } from '../../../store/projects/blackouts.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { Blackout, BlackoutList, CreateBlackout } from './schemas.ts'

const tags = ['blackouts']
const params = z.object({ id: Uuid })

const create = {
  operationId: 'createBlackout',
  tags,
  summary: 'Create a blackout',
  body: CreateBlackout,
  response: { 201: Blackout, ...problems(409, 413, 415) },
}

const list = {
  operationId: 'listBlackouts',
  tags,
  summary: 'List blackouts',
  response: { 200: BlackoutList, ...problems() },
}

const read = {
  operationId: 'getBlackout',
  tags,
  summary: 'Read a blackout',
  params,
  response: { 200: Blackout, ...problems(404) },
}

const remove = {
  operationId: 'removeBlackout',
  tags,
  summary: 'Delete a blackout; deferred runs start immediately',
  params,
  response: { 204: z.null(), ...problems(404, 413, 415) },
}

export function blackoutRoutes(app: App): void {
  app.post(
    '/v1/blackouts',
    { schema: create, config: { access: 'edit' } },
    async ({ body, context }, reply) => {
      const row = await createBlackout(context, body)
      reply.header('location', `/v1/blackouts/${row.id}`)
      return reply.code(201).send(presentBlackout(row, context.clock.now()))
    },
  )

  app.get('/v1/blackouts', { schema: list, config: { access: 'read' } }, async ({ context }) => ({
    items: (await allBlackouts(context)).map((row) => presentBlackout(row, context.clock.now())),
  }))

  app.get('/v1/blackouts/:id', { schema: read, config: { access: 'read' } }, async ({ params, context }) =>
    presentBlackout(await getBlackout(context, params.id), context.clock.now()),
  )

  app.delete(
    '/v1/blackouts/:id',
    { schema: remove, config: { access: 'edit' } },
    async ({ params, context }, reply) => {
      await endBlackout(context, params.id)
      return reply.code(204).send(null)
    },
  )
}

function presentBlackout({ id, name, rule, effect, createdAt }: BlackoutRow, now: number): Blackout {
  const current = spanAt(rule, now)
  const shown = (span: Span | null) => span && { from: utc(span.from), to: utc(span.to) }
  return {
    id,
    name,
    window: rule,
    effect,
    isInForce: current !== null,
    current: shown(current),
    next: shown(spanAfter(rule, now)),
    createdAt: utc(createdAt),
  }
}
