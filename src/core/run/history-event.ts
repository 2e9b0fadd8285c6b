/** All that is told of history: runs that ended, and circuits of targets that opened or closed. */
import { type CircuitEvent, type CircuitEventRow, circuitEventOf } from '../target/circuit-event.ts'
import { type EndedRun, isWantedRun, type RunEvent, type RunFilter, runEventOf } from './run-event.ts'

/** What events are about. */
export const EVENT_SUBJECTS = ['runs', 'circuits'] as const
export type EventSubject = (typeof EVENT_SUBJECTS)[number]

export type HistoryEvent = EndedRun | CircuitEventRow

/** Which events somebody wants. Unless it says so, those of runs; the other lists are about runs alone. */
export interface EventFilter extends RunFilter {
  readonly events?: readonly EventSubject[] | undefined
}

export const isCircuitEvent = (event: HistoryEvent): event is CircuitEventRow => 'lineId' in event

/** Events of one stream are told in order: those of a task, and those of a project's calls to a target. */
export const streamOf = (event: HistoryEvent): string => (isCircuitEvent(event) ? event.lineId : event.taskId)

export function isWanted(event: HistoryEvent, filter: EventFilter): boolean {
  if (isCircuitEvent(event)) return filter.events?.includes('circuits') === true
  return filter.events?.includes('runs') !== false && isWantedRun(event, filter)
}

/** An event as it is sent. Its id is stable for ever: whoever is told twice recognises it. */
export const eventOf = (event: HistoryEvent): RunEvent | CircuitEvent =>
  isCircuitEvent(event) ? circuitEventOf(event) : runEventOf(event)
