/** Entries of the audit log, as they are read from the database and as the API shows them. */
import { utc } from '../values/utc.ts'
import type { AuditAction, AuditSubject } from './audit-action.ts'

/**
 * Takes the place of a project id in entries that belong to no project: the installation's own keys, projects themselves,
 * failed sign-ins.
 */
export const INSTALLATION_ID = '00000000-0000-0000-0000-000000000000'

/** An entry as read from the database. */
export interface EntryRow {
  readonly id: string
  readonly at: number
  readonly projectId: string
  /** Null for entries of the installation. */
  readonly projectName: string | null
  readonly actorKind: string
  readonly actorId: string | null
  readonly actorName: string | null
  readonly address: string | null
  readonly requestId: string | null
  readonly action: AuditAction
  readonly subjectKind: AuditSubject
  readonly subjectId: string | null
  readonly subjectName: string | null
  readonly count: number
  readonly before: unknown
  readonly after: unknown
  readonly reason: string | null
}

/** An entry as the API and events show it. */
export interface ShownEntry {
  readonly id: string
  readonly at: string
  readonly project: { readonly id: string; readonly name: string | null } | null
  readonly actor: { readonly kind: string; readonly id: string | null; readonly name: string | null }
  readonly address: string | null
  readonly requestId: string | null
  readonly action: AuditAction
  readonly subject: {
    readonly kind: AuditSubject
    readonly id: string | null
    readonly name: string | null
  }
  readonly count: number
  readonly before: unknown
  readonly after: unknown
  readonly reason: string | null
}

export const shownEntry = (row: EntryRow): ShownEntry => ({
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
