/** The findings of the audit. */

import { isUuid } from '../../../core/ids.ts'
import { utc } from '../../../core/values/utc.ts'
import { summariseAudit } from '../../../operations/overview/audit-summary.ts'
import { MAX_FINDINGS_COUNTED } from '../../../operations/overview/stats.ts'
import { auditSummary, type FindingRow, listFindings } from '../../../store/audit/findings.ts'
import type { App } from '../../app.ts'
import { decodeCursor, pageOf } from '../../http/cursor.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { type AuditFinding, Findings, ListFindings } from './schemas.ts'

const read = {
  operationId: 'listFindings',
  tags: ['overview'],
  summary: 'List what the audit found, and whether it was repaired',
  description:
    'Nodes with the role liveness check every recurring task within a minute, all one-off tasks in turn, and the history of the last 24 hours. They restore rows that are missing and record each as a finding.',
  querystring: ListFindings,
  response: { 200: Findings, ...problems() },
}

export function findingRoutes(app: App): void {
  app.get('/v1/findings', { schema: read, config: { access: 'read' } }, async ({ query, context }) => {
    const { db, projectId } = context
    const { limit, cursor, taskId = null } = query
    const [before = null] = decodeCursor(cursor, isPosition) ?? []
    const [summary] = await db.run(auditSummary({ projectId, limit: MAX_FINDINGS_COUNTED }))
    const rows = await db.run(listFindings({ projectId, taskId, before, limit: limit + 1 }))
    const page = pageOf(rows, { limit, present: presentFinding, position: ({ id }) => [id] })
    return { summary: summariseAudit(summary, context), ...page }
  })
}

const isPosition = (value: unknown): value is readonly [string] =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' && isUuid(value[0])

const presentFinding = ({ foundAt, ...finding }: FindingRow): AuditFinding => ({
  ...finding,
  foundAt: utc(foundAt),
})
