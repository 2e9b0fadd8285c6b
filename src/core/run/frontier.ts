/**
 * How far a reader has come in history. Rows become visible when their transaction commits, not in the order of
 * the instants they carry, so no instant says what has been read: a row that ended before it may still come. A
 * snapshot of the database does say it. What was committed between two snapshots is exactly what the second one
 * sees and the first one does not, whoever else keeps a transaction open meanwhile, and for however long.
 *
 * Where to look for those rows follows from when their transactions began to write. A run's end is stored within
 * moments of the instant it carries, or noted beside history as late; so a transaction that took its number after
 * some instant writes rows that ended no earlier than `SETTLE_US` before it. Each frontier knows that bound for the
 * transactions that it has not seen the end of, and for all to come.
 */

/** A transaction that was under way, and the earliest end that it may yet write. */
export interface Pending {
  readonly xid: number
  readonly fromUs: number
}

/** All that was committed at some moment: transactions below `xmax`, without those that were under way. */
export interface Frontier {
  readonly xmax: number
  /** What transactions from `xmax` on write ended at this instant or later, in epoch microseconds. */
  readonly fromUs: number
  readonly pending: readonly Pending[]
}

/** Where a row stands among those that became visible together. */
export interface Place {
  readonly us: number
  readonly id: string
}

/** What was read: everything up to `from`; with `to`, also what became visible from there to `to`, up to `at`. */
export interface EventPosition {
  readonly from: Frontier
  readonly to: Frontier | null
  readonly at: Place | null
}

/** An end is stored this soon after it happened, or noted as late; statements say so, see store/outcomes.ts. */
export const LATE_END_MS = 5_000
/** No statement that stores ends takes longer than this before it takes its transaction's number. */
export const LONGEST_STATEMENT_MS = 15_000
const SETTLE_US = (LATE_END_MS + LONGEST_STATEMENT_MS) * 1_000
/** A transaction that has been under way for this long is no longer looked for with each look, only at its end. */
const LONG_US = 30_000_000
/** A position names no more transactions than this; the others are taken for unseen, which repeats some events. */
const MAX_PENDING = 64

/** A snapshot as PostgreSQL writes it, `xmin:xmax:xip,xip`. */
export function readSnapshot(text: string): { xmax: number; running: readonly number[] } {
  const [, xmax = '', running = ''] = text.split(':')
  return { xmax: Number(xmax), running: running === '' ? [] : running.split(',').map(Number) }
}

/**
 * The frontier of a new snapshot, from the one before it. `markUs` is the database's time at which a transaction of
 * the reader's own took its number, and had ended when the snapshot was taken: whatever is not in the snapshot and
 * not below its `xmax` took its number later than that.
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

/** A frontier before everything that ended at an instant or later. */
export const frontierAt = (us: number): Frontier => ({ xmax: 0, fromUs: us, pending: [] })

/** Whether what a transaction wrote had been seen. */
export function hasSeen({ xmax, pending }: Frontier, xid: number): boolean {
  return xid < xmax && !pending.some((p) => p.xid === xid)
}

/** Whether everything that `other` has seen was seen by `frontier` too. */
export function covers(frontier: Frontier, other: Frontier): boolean {
  if (frontier.xmax < other.xmax) return false
  return frontier.pending.every(({ xid }) => !hasSeen(other, xid))
}

/** Where to look for what a frontier has not seen. */
export interface Search {
  /** The ends of most of it lie here or later. */
  readonly fromUs: number
  /** Long transactions that have ended since: what they wrote is looked for by their number, from this instant on. */
  readonly long: { readonly xids: readonly number[]; readonly fromUs: number } | null
}

/** Where to look for what became visible from one frontier to another. */
export function searchBetween(from: Frontier, to: Frontier): Search {
  const isLong = ({ fromUs }: Pending) => fromUs < from.fromUs - LONG_US
  const short = from.pending.filter((p) => !isLong(p))
  const ended = from.pending.filter((p) => isLong(p) && hasSeen(to, p.xid))
  // A clock that was set back makes later ends look earlier than anything that was promised; where a reader begins
  // at an instant, it is that instant that counts.
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

/** Whether a row is among what was read by whoever has come to a position. */
export function isBehind({ from, to, at }: EventPosition, row: Place & { readonly xid: number }): boolean {
  if (hasSeen(from, row.xid)) return true
  return to !== null && at !== null && hasSeen(to, row.xid) && !isAfter(row, at)
}

const FORM = '1'

/** A position as text without spaces, for clients to send back as it is. */
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

/** The position again, or null for text that is none. */
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
