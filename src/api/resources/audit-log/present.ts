import { utc } from '../../../core/values/utc.ts'
import { type EntryRow, INSTALLATION_ID } from '../../../store/audit-log/audit-log.ts'
import type { AuditEntry } from './schemas.ts'

export const presentEntry = (row: EntryRow): AuditEntry => ({
  id: row.id,
  at: utc(row.at),
  project: row.projectId === INSTALLATION_ID ? null : { id: row.projectId, name: row.projectName },
  actor: { kind: row.actorKind, id: row.actorId, name: row.actorName },
  address: row.address,
  requestId: row.requestId,
  action: row.action,
  subject: { kind: row.subjectKind, id: row.subjectId, name: row.subjectName },
  count: row.count,
  before: row.before,
  after: row.after,
  reason: row.reason,
})
