/**
 * Classifies the errors by which PostgreSQL reports a state in which the same request may succeed later, and tells the operator
 * what to do about each. Every other error is caused by the data or by a bug.
 */
import { isUnavailable, sqlState } from './database.ts'

/** Stable names of these states; each is returned with status 503. */
export type TroubleCode = 'unavailable' | 'database_read_only' | 'database_full' | 'database_overloaded'

/** Why the database cannot be used at the moment, and what to do. */
export interface Trouble {
  readonly code: TroubleCode
  readonly detail: string
}

const trouble = (code: TroubleCode, detail: string): Trouble => ({ code, detail })

const UNREACHABLE = trouble(
  'unavailable',
  'The database does not respond. Check that PostgreSQL is running and reachable from this node.',
)
const BUSY = trouble(
  'unavailable',
  'The database was too busy: the request conflicted with others or took too long. Try again.',
)
const STOPPING = trouble('unavailable', 'PostgreSQL is starting up, shutting down or recovering. Try again.')
const READ_ONLY = trouble(
  'database_read_only',
  'PostgreSQL is read-only: it is a standby, or default_transaction_read_only is on. Connect to the primary, promote the standby, or turn the setting off.',
)
const FULL = trouble(
  'database_full',
  'PostgreSQL has run out of disk space. Free or add disk space; a shorter --history-days needs less.',
)
const NO_CONNECTIONS = trouble(
  'database_overloaded',
  'PostgreSQL has no free connections. Raise max_connections, run fewer nodes, or use a connection pooler.',
)
const NO_MEMORY = trouble(
  'database_overloaded',
  'PostgreSQL is out of memory or another resource. See its log for details.',
)
const NOT_PERMITTED = trouble(
  'unavailable',
  'PostgreSQL rejects the user of this node. Restore its login and its privileges on the database.',
)
const BROKEN_DISK = trouble(
  'unavailable',
  'PostgreSQL cannot read or write its files. See its log for details.',
)

/** By SQLSTATE, or by its first two characters if the full code is not listed. */
const BY_STATE: Readonly<Record<string, Trouble>> = {
  '08': UNREACHABLE,
  '25006': READ_ONLY,
  '25P03': BUSY,
  '28': NOT_PERMITTED,
  '3D': NOT_PERMITTED,
  '40001': BUSY,
  '40P01': BUSY,
  '42501': NOT_PERMITTED,
  '53': NO_MEMORY,
  '53100': FULL,
  '53300': NO_CONNECTIONS,
  '55P03': BUSY,
  '57014': BUSY,
  '57P01': STOPPING,
  '57P02': STOPPING,
  '57P03': STOPPING,
  '57P04': NOT_PERMITTED,
  '57P05': BUSY,
  '58030': BROKEN_DISK,
}

/** Returns what an error says about the state of the database; undefined if it is about the request or a bug. */
export function troubleOf(error: unknown): Trouble | undefined {
  const state = sqlState(error)
  if (state !== undefined) return BY_STATE[state] ?? BY_STATE[state.slice(0, 2)]
  return isUnavailable(error) ? UNREACHABLE : undefined
}

/** The trouble to report if the database does not answer in time. */
export const notAnswering = (waitedMs: number): Trouble =>
  trouble(
    'unavailable',
    `The database did not respond within ${waitedMs} ms. Check that PostgreSQL is running and reachable from this node.`,
  )
