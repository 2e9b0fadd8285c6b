/** The event for an entry of the audit log, in the form of CloudEvents 1.0. */
import { utc } from '../values/utc.ts'
import type { AuditAction } from './audit-action.ts'
import { type EntryRow, type ShownEntry, shownEntry } from './audit-entry.ts'

/** An entry as it is read for events. */
export interface RecordedEntry extends EntryRow {
  /** The number of the transaction that stored it. */
  readonly xid: number
  /** Time of the entry in epoch microseconds, with the precision of the database. */
  readonly us: number
}

/** An event as it is sent. */
export interface AuditEvent {
  readonly specversion: '1.0'
  readonly id: string
  readonly source: string
  readonly type: `belfry.audit.${AuditAction}`
  /** The id of the changed object, if it has one. */
  readonly subject?: string
  readonly time: string
  readonly datacontenttype: 'application/json'
  readonly data: { readonly entry: ShownEntry }
}

/** The id never changes, so a receiver recognises an event that it receives twice. */
export const auditEventIdOf = (entryId: string): string => `${entryId}.recorded`

export function auditEventOf(row: RecordedEntry): AuditEvent {
  return {
    specversion: '1.0',
    id: auditEventIdOf(row.id),
    source: `/projects/${row.projectId}`,
    type: `belfry.audit.${row.action}`,
    ...(row.subjectId === null || row.subjectId === '' ? {} : { subject: row.subjectId }),
    time: utc(row.at),
    datacontenttype: 'application/json',
    data: { entry: shownEntry(row) },
  }
}
