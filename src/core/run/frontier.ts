/**
 * How much of history a reader has read. Rows become visible when their transaction commits, not in the order of their end
 * times, so no instant can mark what has been read: a row with an earlier end time may still appear. A snapshot of the database
 * can: what was committed between two snapshots is exactly what is visible to the second but not to the first, regardless of
 * how long other transactions stay open.
 *
 * The frontier also tells where to search for those rows. The end of a run is stored shortly after it happened, or is recorded
 * as late in a separate table; so a transaction that got its number after some instant writes only rows that ended no earlier
 * than `SETTLE_US` before that instant. A frontier stores this bound for each transaction that was in progress, and one for all
 * later transactions.
 */

/** A transaction in progress, and the earliest end time that it may still write. */
export interface Pending {
  readonly xid: number
  readonly fromUs: number
}

/** The state of commits at some moment: all transactions below `xmax` except those that were in progress. */
export interface Frontier {
  readonly xmax: number
  /** Transactions from `xmax` on write only rows that ended at this instant or later, in epoch microseconds. */
  readonly fromUs: number
  readonly pending: readonly Pending[]
}

/** The position of a row among those that became visible together. */
export interface Place {
  readonly us: number
  readonly id: string
}

/**
 * What a reader has read: everything visible at `from`, and, if `to` is set, also what became visible between `from` and `to`,
 * up to `at`.
 */
export interface EventPosition {
  readonly from: Frontier
  readonly to: Frontier | null
  readonly at: Place | null
}

/**
 * An end is stored at most this long after it happened, or recorded as late; the statements in store/agenda/outcomes.ts ensure
 * this.
 */
export const LATE_END_MS = 5_000
/** Maximum time for which a statement that stores ends runs before it gets its transaction number. */
export const LONGEST_STATEMENT_MS = 15_000
const SETTLE_US = (LATE_END_MS + LONGEST_STATEMENT_MS) * 1_000
/**
 * A transaction that has been in progress for longer than this is no longer considered in each search, but only once it has
 * ended.
 */
const LONG_US = 30_000_000
/** Maximum number of transactions in a position. Further ones are treated as unread, so some events are delivered again. */
const MAX_PENDING = 64

/** Parses a snapshot in the format of PostgreSQL, `xmin:xmax:xip,xip`. */
export function readSnapshot(text: string): { xmax: number; running: readonly number[] } {
  const [, xmax = '', running = ''] = text.split(':')
  return { xmax: Number(xmax), running: running === '' ? [] : running.split(',').map(Number) }
}

/**
 * Returns the frontier of a new snapshot, given the previous one. `markUs` is the database's time at which a transaction of the
 * reader got its number. That transaction had ended when the snapshot was taken, so every transaction that is not below `xmax`
 * got its number later.
 */
export function nextFrontier(before: Frontier, snapshot: string, markUs: number): Frontier {
  const { xmax, running } = readSnapshot(snapshot)
  const bounds = new Map(before.pending.map(({ xid, fromUs }) => [xid, fromUs]))
  const pending = running.map((xid) => ({ xid, fromUs: bounds.get(xid) ?? before.fromUs }))
  return bounded({ xmax, fromUs: markUs - SETTLE_US, pending })
}

function bounded(frontier: Frontier): Frontier {
  if (frontier.pending.length <= MAX_PENDING) return frontier
  const pending = frontier.pending.toSorted((a, b) => a.xid - b.xid)
  const rest = pending.slice(MAX_PENDING)
  return {
    xmax: rest[0]?.xid ?? frontier.xmax,
    fromUs: Math.min(frontier.fromUs, ...rest.map(({ fromUs }) => fromUs)),
    pending: pending.slice(0, MAX_PENDING),
  }
}

/** A frontier that has seen nothing that ended at this instant or later. */
export const frontierAt = (us: number): Frontier => ({ xmax: 0, fromUs: us, pending: [] })

/** Whether the frontier has seen what a transaction wrote. */
export function hasSeen({ xmax, pending }: Frontier, xid: number): boolean {
  return xid < xmax && !pending.some((p) => p.xid === xid)
}

/** Whether `frontier` has seen everything that `other` has seen. */
export function covers(frontier: Frontier, other: Frontier): boolean {
  if (frontier.xmax < other.xmax) return false
  return frontier.pending.every(({ xid }) => !hasSeen(other, xid))
}

/** The instant that a reader has come to: of what was stored in time, it has read everything that ended before. */
export const reachedUs = ({ from, at }: EventPosition): number => Math.max(from.fromUs, at?.us ?? 0)

/** Where to search for rows that a frontier has not seen. */
export interface Search {
  /** Rows of all but the long transactions ended at this instant or later. */
  readonly fromUs: number
  /** Long transactions that have ended since: their rows are searched by transaction number, from this instant on. */
  readonly long: { readonly xids: readonly number[]; readonly fromUs: number } | null
}

/** Where to search for rows that became visible between two frontiers. */
export function searchBetween(from: Frontier, to: Frontier): Search {
  const isLong = ({ fromUs }: Pending) => fromUs < from.fromUs - LONG_US
  const short = from.pending.filter((p) => !isLong(p))
  const ended = from.pending.filter((p) => isLong(p) && hasSeen(to, p.xid))
  // If the clock was set back, later ends may precede the stored bound, so the newer bound is considered too. It is not if the
  // reader starts at an instant, because then that instant is the bound.
  const setBackUs = from.xmax === 0 ? from.fromUs : to.fromUs
  const fromUs = Math.min(from.fromUs, setBackUs, ...short.map((p) => p.fromUs))
  return {
    fromUs,
    long:
      ended.length === 0
        ? null
        : { xids: ended.map(({ xid }) => xid), fromUs: Math.min(...ended.map((p) => p.fromUs)) },
  }
}

/** Whether one place comes after another in the order of events. */
export const isAfter = (a: Place, b: Place): boolean => a.us > b.us || (a.us === b.us && a.id > b.id)

/** Whether a row is among those that a reader at this position has read. */
export function isBehind({ from, to, at }: EventPosition, row: Place & { readonly xid: number }): boolean {
  if (hasSeen(from, row.xid)) return true
  return to !== null && at !== null && hasSeen(to, row.xid) && !isAfter(row, at)
}

const FORM = '1'

/** Formats a position as text without spaces, which clients send back unchanged. */
export function formatPosition({ from, to, at }: EventPosition): string {
  const parts = [FORM, formatFrontier(from)]
  if (to !== null) parts.push(formatFrontier(to))
  if (to !== null && at !== null) parts.push(`${at.us.toString(36)}_${at.id}`)
  return parts.join('.')
}

const formatFrontier = ({ xmax, fromUs, pending }: Frontier): string =>
  [
    xmax.toString(36),
    fromUs.toString(36),
    ...pending.map((p) => `${p.xid.toString(36)}~${p.fromUs.toString(36)}`),
  ].join('_')

/** Parses a position; null if the text is not valid. */
export function parsePosition(text: string): EventPosition | null {
  const [form, from = '', to, at, ...rest] = text.split('.')
  if (form !== FORM || rest.length > 0) return null
  const first = parseFrontier(from)
  const second = to === undefined ? null : parseFrontier(to)
  const place = at === undefined ? null : parsePlace(at)
  if (first === null || (to !== undefined && second === null) || (at !== undefined && place === null))
    return null
  return { from: first, to: second, at: place }
}

const PLACE = /^([0-9a-z]{1,11})_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/
const PENDING = /^([0-9a-z]{1,11})~([0-9a-z]{1,11})$/
const NUMBER = /^[0-9a-z]{1,11}$/

function parseFrontier(text: string): Frontier | null {
  const [xmax = '', fromUs = '', ...rest] = text.split('_')
  if (!NUMBER.test(xmax) || !NUMBER.test(fromUs) || rest.length > MAX_PENDING) return null
  const pending = rest.map((part) => {
    const [, xid = '', us = ''] = PENDING.exec(part) ?? []
    return { xid: numberOf(xid), fromUs: numberOf(us) }
  })
  const frontier = { xmax: numberOf(xmax), fromUs: numberOf(fromUs), pending }
  const numbers = [frontier.xmax, ...pending.map(({ xid }) => xid)]
  const instants = [frontier.fromUs, ...pending.map((p) => p.fromUs)]
  return numbers.every(Number.isSafeInteger) && instants.every(isInstantUs) ? frontier : null
}

function parsePlace(text: string): Place | null {
  const [, us = '', id = ''] = PLACE.exec(text) ?? []
  const place = { us: numberOf(us), id }
  return isInstantUs(place.us) ? place : null
}

const numberOf = (text: string): number => (text === '' ? Number.NaN : Number.parseInt(text, 36))
const isInstantUs = (us: number) => Number.isSafeInteger(us) && us >= 0
