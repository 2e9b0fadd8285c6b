/** The audit log: who changed what. */
import { z } from 'zod'
import { shownEntry } from '../../../core/audit-log/audit-entry.ts'
import { isUuid } from '../../../core/ids.ts'
import { instantMs } from '../../../core/task/task.ts'
import { getAuditEntry, readAuditLog } from '../../../operations/audit-log/read-entries.ts'
import { Uuid } from '../../../operations/validation/values.ts'
import type { App } from '../../app.ts'
import { decodeCursor, encodeCursor } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { AuditEntryPage, AuditEntryQuery, AuditEntryWithChanges, ListAuditLog } from './schemas.ts'

const tags = ['audit log']

const list = {
  operationId: 'listAuditLog',
  tags,
  summary: 'List changes and who made them, latest first',
  description:
    'A search with several filters over many entries stops early: a page may contain fewer entries than requested, or none; ' +
    'continue as long as `nextCursor` is not null.',
  querystring: ListAuditLog,
  response: { 200: AuditEntryPage, ...problems() },
}

const read = {
  operationId: 'getAuditEntry',
  tags,
  summary: 'Read an entry of the audit log, with what changed field by field',
  params: z.object({ id: Uuid }),
  querystring: AuditEntryQuery,
  response: { 200: AuditEntryWithChanges, ...problems(404) },
}

export function auditLogRoutes(app: App): void {
  app.get('/v1/audit-log', { schema: list, config: { access: 'administer' } }, async ({ query, context }) => {
    const { from, to, cursor, ...filters } = query
    const [before] = decodeCursor(cursor, isPosition) ?? []
    const { rows, next } = await readAuditLog(context, {
      ...filters,
      from: from === undefined ? undefined : instantMs(from),
      to: to === undefined ? undefined : instantMs(to),
      before,
    })
    return { items: rows.map(shownEntry), nextCursor: next && encodeCursor([next]) }
  })

  app.get(
    '/v1/audit-log/:id',
    { schema: read, config: { access: 'administer' } },
    async ({ params, query, context }) => {
      const { row, changes } = await getAuditEntry(context, { id: params.id, scope: query.scope })
      return { ...shownEntry(row), changes: [...changes] }
    },
  )
}

const isPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && isUuid(value[0])
