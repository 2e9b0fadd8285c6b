/** What the audit has found. */
import { isUuid } from '../../../core/ids.ts'
import type { Context } from '../../../operations/context.ts'
import { MAX_FINDINGS_COUNTED } from '../../../operations/overview/stats.ts'
import { auditSummary, type FindingRow, listFindings } from '../../../store/audit/audit.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { presentAudit, utc } from '../../present.ts'
import { Audit, type AuditFinding, ReadAudit } from './schemas.ts'

const read = {
  operationId: 'getAudit',
  tags: ['overview'],
  summary: 'Whether every task has what it goes on with, and what was lost and put back',
  description:
    'Nodes with the role liveness look at every recurring task within a minute, at one-offs in turn, and at the history of the last 24 hours, and put back what is lost.',
  querystring: ReadAudit,
  response: { 200: Audit, ...problems() },
}

export function auditRoutes(app: App, { db, projectId }: Context): void {
  app.get('/v1/audit', { schema: read }, async ({ query }) => {
    const { limit, cursor, taskId = null } = query
    const [before = null] = decodeCursor(cursor, isPosition) ?? []
    const [summary] = await db.run(auditSummary({ projectId, limit: MAX_FINDINGS_COUNTED }))
    const rows = await db.run(listFindings({ projectId, taskId, before, limit: limit + 1 }))
    const page = pageOf(rows, { limit, present: presentFinding, position: ({ id }) => [id] })
    return { summary: presentAudit(summary), ...page }
  })
}

const isPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && isUuid(value[0])

const presentFinding = ({ foundAt, ...finding }: FindingRow): AuditFinding => ({
  ...finding,
  foundAt: utc(foundAt),
})
