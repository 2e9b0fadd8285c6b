/** The event for a circuit that opened or closed, in the form of CloudEvents 1.0. */
import { utc } from '../values/utc.ts'

/** A change of a circuit, as read for events. */
export interface CircuitEventRow {
  readonly id: string
  readonly projectId: string
  readonly target: string
  /** Identifies the calls of the project to the target. */
  readonly lineId: string
  /** The number of the transaction that stored it. */
  readonly xid: number
  /** When it happened, in epoch microseconds, with the precision of the database. */
  readonly us: number
  readonly event: 'opened' | 'closed'
  readonly openedAt: number
  /** When the next probe is due; null if the circuit closed. */
  readonly until: number | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** An event as it is sent. */
export interface CircuitEvent {
  readonly specversion: '1.0'
  readonly id: string
  readonly source: string
  readonly type: `belfry.target.circuit_${CircuitEventRow['event']}`
  /** The target. */
  readonly subject: string
  readonly time: string
  readonly datacontenttype: 'application/json'
  readonly data: {
    readonly target: string
    readonly circuit: {
      readonly state: 'open' | 'closed'
      readonly openedAt: string
      readonly nextProbeAt: string | null
      readonly error: { readonly code: string; readonly message: string } | null
    }
  }
}

export function circuitEventOf(row: CircuitEventRow): CircuitEvent {
  const { id, projectId, target, event, us, openedAt, until, error } = row
  return {
    specversion: '1.0',
    id: `${id}.circuit`,
    source: `/projects/${projectId}`,
    type: `belfry.target.circuit_${event}`,
    subject: target,
    time: utc(Math.floor(us / 1_000)),
    datacontenttype: 'application/json',
    data: {
      target,
      circuit: {
        state: event === 'opened' ? 'open' : 'closed',
        openedAt: utc(openedAt),
        nextProbeAt: until === null ? null : utc(until),
        error: error && { code: error.code, message: error.message },
      },
    },
  }
}
