/** Records changes in the audit log, in the transaction that makes them: neither is ever stored without the other. */
import type { AuditAction, AuditSubject } from '../../core/audit-log/audit-action.ts'
import { INSTALLATION_ID } from '../../core/audit-log/audit-entry.ts'
import { recordedValue } from '../../core/audit-log/recorded-value.ts'
import { appendEntries, type EntryOrigin, type NewEntry } from '../../store/audit-log/audit-log.ts'
import type { Queryable } from '../../store/database/database.ts'
import type { Actor, Context } from '../context.ts'

/** A change as the operation that makes it describes it. */
export interface Change {
  readonly action: AuditAction
  readonly subject: {
    readonly kind: AuditSubject
    readonly id: string | null
    readonly name?: string | null | undefined
  }
  /**
   * What the API showed before and shows now, or only the differences; absent if there was nothing to show. Must not contain
   * secrets.
   */
  readonly before?: object | null | undefined
  readonly after?: object | null | undefined
  /** The operation's own reason, if it has one; otherwise the entry has the reason that the request gives. */
  readonly reason?: string | null | undefined
  /** The project that the change concerns, if it is not the caller's; null for the installation. */
  readonly projectId?: string | null | undefined
}

/** Appends an entry. `tx` is the transaction of the change. */
export async function recordChange(tx: Queryable, context: Caller, change: Change): Promise<void> {
  await tx.run(appendEntries([entryOf(context, change)]))
}

/** Returns the subject of audit log entries about a task. */
export const taskSubject = ({
  id,
  name,
  key,
}: {
  readonly id: string
  readonly name: string | null
  readonly key: string | null
}) => ({ kind: 'task', id, name: name ?? key }) as const

/** The parts of a context that an entry names. */
export type Caller = Pick<Context, 'projectId' | 'actor' | 'request'>

export function entryOf(context: Caller, change: Change): NewEntry {
  const { action, subject, before, after, reason, projectId } = change
  const origin = originOf(context)
  return {
    ...origin,
    projectId: projectId === undefined ? origin.projectId : (projectId ?? INSTALLATION_ID),
    reason: reason ?? origin.reason,
    action,
    subjectKind: subject.kind,
    subjectId: subject.id,
    subjectName: subject.name ?? null,
    count: 1,
    before: recordedValue(before),
    after: recordedValue(after),
  }
}

export const originOf = ({ projectId, actor, request }: Caller): EntryOrigin => ({
  projectId,
  actorKind: actor.kind,
  actorId: idOf(actor),
  actorName: 'name' in actor ? actor.name : null,
  address: 'address' in actor ? actor.address : null,
  requestId: request?.id ?? null,
  reason: request?.reason ?? null,
})

/** Callers without credentials are identified by their address. */
function idOf(actor: Actor): string | null {
  if (actor.kind === 'system') return actor.part
  return 'id' in actor ? actor.id : actor.address
}
