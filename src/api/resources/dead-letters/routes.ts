/** Dead letters: lists them, groups them by error, redrives or dismisses them. */

import { z } from 'zod'
import { isUuid } from '../../../core/ids.ts'
import { utc } from '../../../core/values/utc.ts'
import {
  beginRedrive,
  endRedrive,
  filterOf,
  forecastRedrive,
  getRedrive,
  listDeadLetters,
  listGroups,
  newest,
} from '../../../operations/dead-letters/dead-letters.ts'
import { dismissLetters } from '../../../operations/dead-letters/dismiss.ts'
import { NoBody, Uuid } from '../../../operations/validation/values.ts'
import type { DeadLetterFilter as StoredFilter } from '../../../store/history/dead-letters.ts'
import { findRedrives, type RedriveRow } from '../../../store/history/redrives.ts'
import type { RunPosition } from '../../../store/history/run-search.ts'
import type { App } from '../../app.ts'
import { decodeCursor, encodeCursor, isInstant, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentRun } from '../runs/present.ts'
import {
  type DeadLetterFilter,
  DeadLetterGroups,
  DeadLetterPage,
  DismissDeadLetters,
  Dismissed,
  GroupDeadLetters,
  ListDeadLetters,
  ListRedrives,
  Redrive,
  RedriveDeadLetters,
  RedriveForecast,
  RedrivePage,
} from './schemas.ts'

const tags = ['dead letters']
const byId = z.object({ id: Uuid })

const list = {
  operationId: 'listDeadLetters',
  tags,
  summary: 'List dead letters, latest first',
  description:
    'Dead letters are runs that failed permanently and were neither rerun nor dismissed. A search over many runs stops early: a page may contain fewer runs than ' +
    'requested, or none; continue as long as `nextCursor` is not null.',
  querystring: ListDeadLetters,
  response: { 200: DeadLetterPage, ...problems() },
}

const groups = {
  operationId: 'groupDeadLetters',
  tags,
  summary: 'Group dead letters by error, task or hour',
  querystring: GroupDeadLetters,
  response: { 200: DeadLetterGroups, ...problems() },
}

const dismiss = {
  operationId: 'dismissDeadLetters',
  tags,
  summary: 'Dismiss dead letters; the runs stay in history',
  description:
    'A request examines a bounded number of failed runs and may dismiss none of them. While `nextCursor` is not null, send the same filter again with it as `cursor`.',
  body: DismissDeadLetters,
  response: { 200: Dismissed, ...problems(413, 415) },
}

const redrive = {
  operationId: 'redriveDeadLetters',
  tags,
  summary: 'Rerun dead letters at a limited rate',
  description:
    'Returns immediately. The redrive continues on any api node, even after a crash, and reruns each dead letter at most once. With `dryRun` nothing is changed.',
  body: RedriveDeadLetters,
  response: { 200: RedriveForecast, 202: Redrive, ...problems(413, 415) },
}

const listAll = {
  operationId: 'listRedrives',
  tags,
  summary: 'List redrives, latest first',
  querystring: ListRedrives,
  response: { 200: RedrivePage, ...problems() },
}

const read = {
  operationId: 'getRedrive',
  tags,
  summary: 'Read a redrive and its progress',
  params: byId,
  response: { 200: Redrive, ...problems(404) },
}

const cancel = {
  operationId: 'cancelRedrive',
  tags,
  summary: 'Cancel a redrive',
  params: byId,
  body: NoBody,
  response: { 200: Redrive, ...problems(404, 409, 413, 415) },
}

export function deadLetterRoutes(app: App): void {
  app.get('/v1/dead-letters', { schema: list, config: { access: 'read' } }, async ({ query, context }) => {
    const { rows, next } = await listDeadLetters(context, {
      filter: filterOf(query),
      before: positionOf(decodeCursor(query.cursor, isPosition)),
      limit: query.limit,
    })
    return {
      items: rows.map((row) => ({ ...presentRun(row), fingerprint: row.fingerprint })),
      nextCursor: cursorOf(next),
    }
  })

  app.get(
    '/v1/dead-letters/groups',
    { schema: groups, config: { access: 'read' } },
    async ({ query, context }) => {
      const { by, limit } = query
      const found = await listGroups(context, { filter: filterOf(query), by, limit })
      return {
        items: found.groups.map(({ firstAt, lastAt, sampleRunId, sampleMessage, examined: _, ...group }) => ({
          ...group,
          firstAt: utc(firstAt),
          lastAt: utc(lastAt),
          sample: { runId: sampleRunId, message: sampleMessage },
        })),
        isComplete: found.isComplete,
      }
    },
  )

  app.post(
    '/v1/dead-letters/dismiss',
    { schema: dismiss, config: { access: 'operate' } },
    async ({ body, context }) => {
      const { count, next } = await dismissLetters(context, {
        filter: filterOf(body.filter),
        before: positionOf(decodeCursor(body.cursor, isPosition, '/cursor')),
        dryRun: body.dryRun,
      })
      return { count, isComplete: next === null, nextCursor: cursorOf(next) }
    },
  )

  app.post(
    '/v1/dead-letters/redrive',
    { schema: redrive, config: { access: 'operate' } },
    async ({ body, context }, reply) => {
      if (body.dryRun) return reply.code(200).send(await forecastRedrive(context, filterOf(body.filter)))
      const row = await beginRedrive(context, body)
      reply.header('location', `/v1/dead-letters/redrives/${row.id}`)
      return reply.code(202).send(present(row))
    },
  )

  app.get(
    '/v1/dead-letters/redrives',
    { schema: listAll, config: { access: 'read' } },
    async ({ query: { limit, cursor }, context }) => {
      const [before = null] = decodeCursor(cursor, isId) ?? []
      const { db, projectId } = context
      const rows = await db.run(findRedrives({ projectId, before, limit: limit + 1 }))
      return pageOf(rows, { limit, present, position: ({ id }) => [id] })
    },
  )

  app.get(
    '/v1/dead-letters/redrives/:id',
    { schema: read, config: { access: 'read' } },
    async ({ params, context }) => present(await getRedrive(context, params.id)),
  )

  app.post(
    '/v1/dead-letters/redrives/:id/cancel',
    { schema: cancel, config: { access: 'operate' } },
    async ({ params, context }) => present(await endRedrive(context, params.id)),
  )
}

const positionOf = (position: readonly [us: number, id: string] | undefined): RunPosition =>
  position ? { us: position[0], id: position[1] } : newest()

const cursorOf = (next: RunPosition | null): string | null => next && encodeCursor([next.us, next.id])

const isPosition = (value: unknown): value is readonly [us: number, id: string] =>
  Array.isArray(value) &&
  value.length === 2 &&
  Number.isInteger(value[0]) &&
  isInstant(Math.floor(value[0] / 1_000)) &&
  typeof value[1] === 'string' &&
  isUuid(value[1])

const isId = (value: unknown): value is readonly [id: string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && isUuid(value[0])

function presentFilter({ from, to, taskId, fingerprint, runIds }: StoredFilter): DeadLetterFilter {
  return {
    ...(taskId === undefined ? {} : { taskId }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(from === undefined ? {} : { from: utc(from) }),
    ...(to === undefined ? {} : { to: utc(to) }),
    ...(runIds === undefined ? {} : { runIds: [...runIds] }),
  }
}

function present(row: RedriveRow): Redrive {
  const { id, state, rate, redriven, refused, waiting, lastError, createdAt, endedAt } = row
  return {
    id,
    state,
    filter: presentFilter(row.filter),
    rate,
    redriven,
    refused,
    waiting,
    lastError,
    createdAt: utc(createdAt),
    endedAt: endedAt === null ? null : utc(endedAt),
  }
}
