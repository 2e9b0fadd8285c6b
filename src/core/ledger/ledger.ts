/**
 * The ledger compares the occurrences that a task should have in a period with those that are recorded. Every expected
 * occurrence is accounted for by a run, by a skip or a failure that names a reason, by a pause that still lasts, or by the row
 * that is scheduled for it; all others are missing. Pure: it receives rows and definitions and returns entries.
 */
import type { EndedRunState, LiveRunState, RunKind } from '../run/run.ts'
import { owedOfDelay } from '../schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../task/task.ts'
import { atOnce, type Steps } from '../values/steps.ts'
import {
  type Expected,
  type ExpectedStretch,
  expectedSteps,
  isChain,
  isInstantOf,
  type Owing,
} from './expected.ts'

/** The state of an occurrence. */
export const LEDGER_STATES = [
  'ran',
  'active',
  'skipped',
  'failed',
  'due',
  'upcoming',
  'missing',
  'doubled',
  'unexpected',
] as const
export type LedgerState = (typeof LEDGER_STATES)[number]

/** The states that indicate an inconsistency. */
export const OUT_OF_ORDER = ['missing', 'doubled', 'unexpected'] as const satisfies readonly LedgerState[]

export const isInOrder = (state: LedgerState): boolean =>
  !(OUT_OF_ORDER as readonly LedgerState[]).includes(state)

/** A row of the agenda or of history that stands for one occurrence or for several consecutive ones. */
export interface LedgerRow {
  readonly runId: string
  readonly kind: RunKind | 'skip'
  readonly state: EndedRunState | LiveRunState | 'scheduled' | 'held' | 'deferred'
  readonly reason: string | null
  readonly scheduledFor: number
  readonly endedAt: number | null
  /** The last occurrence that the row stands for, if it stands for several. */
  readonly coversUntil: number | null
  readonly version: number
  readonly ordinal: number
}

/** One line of the ledger: one occurrence, or several consecutive ones with the same state and reason. */
export interface LedgerEntry {
  readonly state: LedgerState
  readonly at: number
  /** The last of several occurrences; null if there is only one. */
  readonly until: number | null
  readonly count: number
  readonly version: number
  /** The rows that account for it: usually one, none if there is no row, several if it is doubled. */
  readonly rows: readonly LedgerRow[]
  readonly reason: string | null
}

/** The input of the ledger. Instants are epoch milliseconds. */
export interface LedgerCase extends Owing {
  readonly from: number
  readonly to: number
  readonly now: number
  /** While the task is paused: the instant up to which skipped occurrences are already recorded. */
  readonly pausedFrom: number | null
  /** Rows that stand for any occurrence within the period, and all live rows. */
  readonly rows: readonly LedgerRow[]
  /** The latest row before the period. */
  readonly before: LedgerRow | null
  /** History before the stretch was deleted, and the task had some. */
  readonly isCutOff: boolean
  /** Maximum number of occurrences to consider. */
  readonly limit: number
}

/** The ledger of a period. */
export interface Ledger {
  readonly entries: readonly LedgerEntry[]
  readonly counts: Readonly<Record<LedgerState, number>>
  readonly expected: number
  /** The last occurrence considered, if the period has more occurrences than the limit; null otherwise. */
  readonly cutAt: number | null
}

/**
 * The period in which occurrences are expected. It ends now at the latest for a task without a scheduled row, which has no
 * upcoming occurrences.
 */
function expectedStretch(it: LedgerCase): ExpectedStretch {
  const to = it.rows.some(isWaiting) ? it.to : Math.min(it.to, it.now)
  return { from: it.from, to, limit: it.limit }
}

export function ledgerOf(it: LedgerCase): Ledger {
  return atOnce(ledgerSteps(it))
}

/** `ledgerOf` in steps. */
export function* ledgerSteps(it: LedgerCase): Steps<Ledger> {
  const expected = yield* expectedSteps(it, expectedStretch(it))
  const rows = it.rows.filter(({ kind }) => kind !== 'manual' && kind !== 'backfill')
  const filled = filledIn(it.rows)
  const waiting = rows.find(isWaiting)
  const { items, cutAt } = expected
  const book = new Book(rows.filter((row) => !isWaiting(row)))
  const all = withRows(it, items, book, cutAt ?? Number.POSITIVE_INFINITY)
  const counts = Object.fromEntries(LEDGER_STATES.map((state) => [state, 0])) as Record<LedgerState, number>
  const entries: LedgerEntry[] = []
  let ordinal = firstOrdinal(it, rows)
  for (const listed of all) {
    const found = book.at(listed.at)
    for (const row of found) ordinal = Math.max(ordinal, ordinalAfter(row))
    if (found.length === 0 && ordinal > limitOf(it, listed.version)) continue
    const accounts = found.length > 0 ? found : (filled.get(listed.at) ?? [])
    const entry = entryOf(it, listed, { found: accounts, waiting })
    // Upcoming occurrences are counted when they run; the scheduled row has the count up to now.
    if (entry.rows[0] === waiting && waiting) ordinal = Math.max(ordinal, waiting.ordinal)
    if (entry.state === 'due' || entry.state === 'upcoming') ordinal += 1
    counts[entry.state] += 1
    append(entries, entry)
    yield
  }
  const broken = cutAt === null ? brokenChain(it, waiting, ordinal) : null
  if (broken) {
    counts.missing += 1
    entries.push(broken)
  }
  const owed = Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.unexpected
  return { entries, counts, expected: owed, cutAt }
}

/**
 * The backfill runs, by the instant of the occurrence; the latest one if there are several. They account for occurrences
 * without a row, and never make one doubled.
 */
const filledIn = (rows: readonly LedgerRow[]): ReadonlyMap<number, readonly LedgerRow[]> =>
  new Map(rows.filter(({ kind }) => kind === 'backfill').map((row) => [row.scheduledFor, [row]]))

/** Whether this is the row with which the task's schedule continues. */
const isWaiting = ({ state, kind }: LedgerRow) =>
  state === 'scheduled' && (kind === 'occurrence' || kind === 'skip')

/** Whether a run is due but not yet allowed to start, or not yet fired. */
const isUnfired = ({ state }: LedgerRow) => state === 'scheduled' || state === 'held' || state === 'deferred'

/** The ordinal of the next occurrence. A row that was never fired was not counted. */
const ordinalAfter = (row: LedgerRow) => (wasFired(row) ? row.ordinal + 1 : row.ordinal)

/** What the first occurrence of the stretch counts as. Without any row left nothing tells how many there were before: maybe all. */
function firstOrdinal({ before, isCutOff }: LedgerCase, rows: readonly LedgerRow[]): number {
  if (before) return ordinalAfter(before)
  return isCutOff && rows.length === 0 ? Number.POSITIVE_INFINITY : 1
}

/**
 * Whether a row was fired. A row with a reason stands for occurrences that did not run, except that a run which exceeded its
 * queue timeout had been fired.
 */
const wasFired = ({ reason }: LedgerRow) => reason === null || reason === 'queue_timeout'

const limitOf = ({ versions }: Owing, version: number): number =>
  definitionOf(versions, version)?.maxRuns ?? Number.POSITIVE_INFINITY

const definitionOf = (versions: Owing['versions'], version: number): TaskDefinition | undefined =>
  versions.find((it) => it.version === version)?.definition

/** Rows by the instants of the occurrences they stand for. */
class Book {
  readonly #single = new Map<number, LedgerRow[]>()
  readonly #ranges: readonly LedgerRow[]

  constructor(rows: readonly LedgerRow[]) {
    for (const row of rows) {
      if (isRange(row)) continue
      const same = this.#single.get(row.scheduledFor)
      if (same) same.push(row)
      else this.#single.set(row.scheduledFor, [row])
    }
    this.#ranges = rows.filter(isRange).sort((a, b) => a.scheduledFor - b.scheduledFor)
  }

  get singles(): IterableIterator<LedgerRow[]> {
    return this.#single.values()
  }

  at(instant: number): LedgerRow[] {
    const single = this.#single.get(instant) ?? []
    if (this.#ranges.length === 0) return single
    const ranges = this.#rangesAt(instant)
    return ranges.length === 0 ? single : [...single, ...ranges]
  }

  /** Ranges hardly ever overlap, so only the last few that begin before the instant are checked. */
  #rangesAt(instant: number): LedgerRow[] {
    let [low, high] = [0, this.#ranges.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#ranges[middle]?.scheduledFor ?? 0) <= instant) low = middle + 1
      else high = middle
    }
    return this.#ranges
      .slice(Math.max(0, low - MAX_RANGES_SEEN), low)
      .filter(({ coversUntil }) => (coversUntil ?? 0) >= instant)
  }
}

const MAX_RANGES_SEEN = 8

const isRange = ({ coversUntil, scheduledFor }: LedgerRow) =>
  coversUntil !== null && coversUntil > scheduledFor

/** An occurrence that gets an entry. An extra one is known only from its row. */
interface Listed extends Expected {
  readonly isExtra: boolean
}

/**
 * Adds occurrences that have a row but are not expected: those of chains, and those that were fired just before an edit or an
 * end that would have prevented them.
 */
function withRows({ from, to }: LedgerCase, items: readonly Expected[], book: Book, cutAt: number): Listed[] {
  const known = new Set(items.map(({ at }) => at))
  const listed = items.map((item) => ({ ...item, isExtra: false }))
  const more: Listed[] = []
  for (const [row] of book.singles) {
    if (!row || known.has(row.scheduledFor)) continue
    const isWithin = row.scheduledFor >= from && row.scheduledFor <= Math.min(to, cutAt)
    if (isWithin) more.push({ at: row.scheduledFor, version: row.version, isExtra: true })
  }
  return more.length === 0 ? listed : [...listed, ...more].sort((a, b) => a.at - b.at)
}

function entryOf(
  it: LedgerCase,
  { at, version, isExtra }: Listed,
  { found, waiting }: { found: readonly LedgerRow[]; waiting: LedgerRow | undefined },
): LedgerEntry {
  const entry = (state: LedgerState, reason: string | null = null): LedgerEntry => ({
    state,
    at,
    until: null,
    count: 1,
    version,
    rows: found,
    reason,
  })
  const [row] = found
  if (found.length > 1) return entry('doubled')
  if (row) {
    if (row.state === 'skipped') return { ...entry('skipped', row.reason), version: row.version }
    if (!wasFired(row)) return { ...entry('failed', row.reason), version: row.version }
    const state = isUnfired(row) ? 'due' : row.endedAt === null ? 'active' : 'ran'
    const isOwed = !isExtra || isScheduled(it, row)
    return { ...entry(isOwed ? state : 'unexpected'), version: row.version }
  }
  if (waiting && at >= waiting.scheduledFor)
    return { ...entry(at > it.now ? 'upcoming' : 'due'), rows: at === waiting.scheduledFor ? [waiting] : [] }
  if (it.pausedFrom !== null && at > it.pausedFrom) return entry('skipped', 'paused')
  return entry('missing')
}

/**
 * Whether the instant of a row is an occurrence of its version or of an earlier one: a row that is due during an edit keeps its
 * instant, even over several edits.
 */
function isScheduled({ versions }: LedgerCase, row: LedgerRow): boolean {
  return versions.some(
    ({ version, definition }) => version <= row.version && isInstantOf(definition, row.scheduledFor),
  )
}

/** Adds an entry, or extends the last one if both have the same state, reason and version. */
function append(entries: LedgerEntry[], entry: LedgerEntry): void {
  const last = entries.at(-1)
  if (!last || !isSameFate(last, entry)) entries.push(entry)
  else entries[entries.length - 1] = { ...last, until: entry.at, count: last.count + 1 }
}

function isSameFate(a: LedgerEntry, b: LedgerEntry): boolean {
  if (a.state !== b.state || a.reason !== b.reason || a.version !== b.version) return false
  if (a.rows.length === 0 && b.rows.length === 0) return true
  const [row] = a.rows
  return a.rows.length === 1 && b.rows.length === 1 && row !== undefined && row === b.rows[0] && isRange(row)
}

/** The missing occurrence of a chain that should continue but has no live row: the one after its last run. */
function brokenChain(it: LedgerCase, waiting: LedgerRow | undefined, ordinal: number): LedgerEntry | null {
  const present = it.versions.at(-1)
  if (!present || !isChain(present.definition)) return null
  if (waiting || it.pausedFrom !== null || it.endedAt !== null || it.to < it.now) return null
  if (it.rows.some(({ endedAt }) => endedAt === null)) return null
  if (ordinal > (present.definition.maxRuns ?? Number.POSITIVE_INFINITY)) return null
  const last = [...it.rows, ...(it.before ? [it.before] : [])]
    .filter(({ kind }) => kind === 'occurrence')
    .reduce<LedgerRow | null>((a, b) => (a === null || b.scheduledFor > a.scheduledFor ? b : a), null)
  // Its last run may have been the last before its end.
  if (last === null && it.isCutOff && present.definition.endAt !== null) return null
  const lastEndedAt = last && (last.endedAt ?? last.scheduledFor)
  const at = owedOfDelay(planOf(present.definition), { lastEndedAt, createdAt: it.createdAt })
  if (at === null || at > it.now) return null
  return { state: 'missing', at, until: null, count: 1, version: present.version, rows: [], reason: null }
}
