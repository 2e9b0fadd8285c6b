/**
 * All events: runs that ended, circuits of targets that opened or closed, and entries of the audit log. The first two are part
 * of history and can be followed together; the audit log is followed separately.
 */
import type { AuditAction } from '../audit-log/audit-action.ts'
import { type AuditEvent, auditEventOf, type RecordedEntry } from '../audit-log/audit-event.ts'
import { type CircuitEvent, type CircuitEventRow, circuitEventOf } from '../target/circuit-event.ts'
import { type EndedRun, isWantedRun, type RunEvent, type RunFilter, runEventOf } from './run-event.ts'

/** What events are about. */
export const EVENT_SUBJECTS = ['runs', 'circuits', 'audit-log'] as const
export type EventSubject = (typeof EVENT_SUBJECTS)[number]

/** The source that a subscriber follows. */
export type EventSource = 'history' | 'audit-log'

export type HistoryEvent = EndedRun | CircuitEventRow | RecordedEntry

/** Which events a subscriber wants. Without `events`, those of runs. */
export interface EventFilter extends RunFilter {
  readonly events?: readonly EventSubject[] | undefined
  /** Kinds of changes, for the audit log only. The other lists apply to runs only. */
  readonly actions?: readonly AuditAction[] | undefined
}

export const sourceOf = ({ events }: EventFilter): EventSource =>
  events?.includes('audit-log') ? 'audit-log' : 'history'

export const isCircuitEvent = (event: HistoryEvent): event is CircuitEventRow => 'lineId' in event
const isAuditEntry = (event: HistoryEvent): event is RecordedEntry => 'action' in event

/**
 * Events of one stream are delivered in order: those of a task, those of a project's calls to a target, and those of the audit
 * log.
 */
export function streamOf(event: HistoryEvent): string {
  if (isAuditEntry(event)) return 'audit-log'
  return isCircuitEvent(event) ? event.lineId : event.taskId
}

export function isWanted(event: HistoryEvent, filter: EventFilter): boolean {
  const { events, actions } = filter
  if (isAuditEntry(event))
    return sourceOf(filter) === 'audit-log' && actions?.includes(event.action) !== false
  if (isCircuitEvent(event)) return events?.includes('circuits') === true
  return events?.includes('runs') !== false && isWantedRun(event, filter)
}

/** The event in its wire form. Its id never changes, so a receiver recognises an event that it receives twice. */
export function eventOf(event: HistoryEvent): RunEvent | CircuitEvent | AuditEvent {
  if (isAuditEntry(event)) return auditEventOf(event)
  return isCircuitEvent(event) ? circuitEventOf(event) : runEventOf(event)
}
