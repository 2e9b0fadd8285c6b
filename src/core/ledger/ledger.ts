/**
 * The ledger: what a task owed in a stretch of time, against what is recorded. Every expected occurrence is
 * accounted for by a run, by a skip or a failure that names a reason, by the pause that still lasts, or by the row that waits
 * for its time; what is left is missing. Pure: it sees rows and definitions and answers entries.
 */
import type { EndedRunState, LiveRunState, RunKind } from '../run/run.ts'
import { delayMs, firstOccurrence } from '../schedule/occurrences.ts'
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

/** Where an occurrence stands. */
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

/** What must not be. */
export const OUT_OF_ORDER = ['missing', 'doubled', 'unexpected'] as const satisfies readonly LedgerState[]

export const isInOrder = (state: LedgerState): boolean =>
  !(OUT_OF_ORDER as readonly LedgerState[]).includes(state)

/** A row of the agenda or of history that stands for an occurrence, or for a stretch of them. */
export interface LedgerRow {
  readonly runId: string
  readonly kind: RunKind | 'skip'
  readonly state: EndedRunState | LiveRunState | 'scheduled' | 'held' | 'deferred'
  readonly reason: string | null
  readonly scheduledFor: number
  readonly endedAt: number | null
  /** The last occurrence that it speaks for, when it speaks for several. */
  readonly coversUntil: number | null
  readonly version: number
  readonly ordinal: number
}

/** One line of the ledger: an occurrence, or several in a row that share their fate. */
export interface LedgerEntry {
  readonly state: LedgerState
  readonly at: number
  /** The last occurrence of several; null for one alone. */
  readonly until: number | null
  readonly count: number
  readonly version: number
  /** The rows behind it: one, none for what has no row, more for what is doubled. */
  readonly rows: readonly LedgerRow[]
  readonly reason: string | null
}

/** What the ledger is made of. Instants are epoch milliseconds. */
export interface LedgerCase extends Owing {
  readonly from: number
  readonly to: number
  readonly now: number
  /** While the task is paused: what it passes over is recorded up to here. */
  readonly pausedFrom: number | null
  /** Rows that stand for occurrences within the stretch, or speak for some of it; and all live ones. */
  readonly rows: readonly LedgerRow[]
  /** The latest row before the stretch. */
  readonly before: LedgerRow | null
  /** History before the stretch was deleted, and the task had some. */
  readonly isCutOff: boolean
  /** How many occurrences may be looked at. */
  readonly limit: number
}

/** The ledger of a stretch of time. */
export interface Ledger {
  readonly entries: readonly LedgerEntry[]
  readonly counts: Readonly<Record<LedgerState, number>>
  readonly expected: number
  /** The stretch holds more occurrences than may be looked at; the last of those that were. */
  readonly cutAt: number | null
}

/** The stretch whose occurrences are to be expected: nothing lies ahead of a task that has nothing to go on with. */
function expectedStretch(it: LedgerCase): ExpectedStretch {
  const to = it.rows.some(isWaiting) ? it.to : Math.min(it.to, it.now)
  return { from: it.from, to, limit: it.limit }
}

export function ledgerOf(it: LedgerCase): Ledger {
  return atOnce(ledgerSteps(it))
}

/** The same in steps. */
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
    // What lies ahead will be counted when it runs; the row that waits knows how far the counting has come.
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
 * Runs of backfills, by the instants they make up for; the latest where there are several. They account for what nothing else
 * does, and never double what has a row of its own.
 */
const filledIn = (rows: readonly LedgerRow[]): ReadonlyMap<number, readonly LedgerRow[]> =>
  new Map(rows.filter(({ kind }) => kind === 'backfill').map((row) => [row.scheduledFor, [row]]))

/** The row that the task goes on with. */
const isWaiting = ({ state, kind }: LedgerRow) =>
  state === 'scheduled' && (kind === 'occurrence' || kind === 'skip')

/** Due and not yet allowed to start, or not yet fired. */
const isUnfired = ({ state }: LedgerRow) => state === 'scheduled' || state === 'held' || state === 'deferred'

/** What the occurrence after this row counts as: one that was never fired was not counted. */
const ordinalAfter = (row: LedgerRow) => (wasFired(row) ? row.ordinal + 1 : row.ordinal)

/** What the first occurrence of the stretch counts as. Without any row left nothing tells how many there were before: maybe all. */
function firstOrdinal({ before, isCutOff }: LedgerCase, rows: readonly LedgerRow[]): number {
  if (before) return ordinalAfter(before)
  return isCutOff && rows.length === 0 ? Number.POSITIVE_INFINITY : 1
}

/** A row with a reason speaks for what did not run; one that waited in a queue for too long had been fired. */
const wasFired = ({ reason }: LedgerRow) => reason === null || reason === 'queue_timeout'

const limitOf = ({ versions }: Owing, version: number): number =>
  definitionOf(versions, version)?.maxRuns ?? Number.POSITIVE_INFINITY

const definitionOf = (versions: Owing['versions'], version: number): TaskDefinition | undefined =>
  versions.find((it) => it.version === version)?.definition

/** Rows by the instants they speak for. */
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

  /** Stretches hardly ever overlap, so those that begin shortly before the instant are enough to look at. */
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

/** An occurrence that has a line; an extra one is known by its row alone. */
interface Listed extends Expected {
  readonly isExtra: boolean
}

/**
 * What is expected, and what else has a row: the occurrences of chains, and those that were fired a moment before
 * an edit or an end that would have prevented them.
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

/** Edits may find a row due, again and again: it keeps its instant, which is one of a version before. */
function isScheduled({ versions }: LedgerCase, row: LedgerRow): boolean {
  return versions.some(
    ({ version, definition }) => version <= row.version && isInstantOf(definition, row.scheduledFor),
  )
}

/** Adds an entry, or makes the last one speak for it too. */
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

/** A chain that should go on and has no row to go on with: the occurrence after its last run is missing. */
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
  const at = nextOfChain(present.definition, last, it.createdAt)
  if (at === null || at > it.now) return null
  return { state: 'missing', at, until: null, count: 1, version: present.version, rows: [], reason: null }
}

function nextOfChain(definition: TaskDefinition, last: LedgerRow | null, createdAt: number): number | null {
  const plan = planOf(definition)
  if (last === null || plan.schedule.type !== 'delay') return firstOccurrence(plan, createdAt)
  const at = Math.floor((last.endedAt ?? last.scheduledFor) + delayMs(plan.schedule))
  return plan.endAt !== null && at > plan.endAt ? null : at
}
