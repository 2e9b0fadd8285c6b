/**
 * Follows history for all followers on a node: while there are any, it reads new events a few times a second and keeps the
 * latest ones. A follower that is further behind reads history separately, page by page. Without followers nothing is done.
 */
import {
  covers,
  type EventPosition,
  type Frontier,
  frontierAt,
  hasSeen,
  isAfter,
  nextFrontier,
  type Place,
  reachedUs,
  readSnapshot,
  searchBetween,
} from '../core/run/frontier.ts'
import { type EventSource, type HistoryEvent, streamOf } from '../core/run/history-event.ts'
import type { Database, Queryable } from '../store/database/database.ts'
import { currentPosition } from '../store/history/current-position.ts'
import { currentSnapshot, markTransactions } from '../store/history/ended-runs.ts'
import { NO_ID } from '../store/history/run-search.ts'
import type { Logger } from '../telemetry/logger.ts'
import { TAIL_SOURCES, type TailPlace, type TailSource } from './tail-source.ts'

/** Minimum interval between reads; the pause also grows so that reads take at most a fifth of the time. */
const EVERY_MS = 250
const PAUSE_PER_MS = 4
const LONGEST_PAUSE_MS = 5_000
/** Maximum number of runs in one page. */
export const PAGE_ROWS = 500
/** Maximum number of runs that one look keeps; beyond that, followers read the rest themselves. */
const MAX_LOOK_ROWS = 5_000
/** Maximum number of runs kept for followers that are slightly behind. */
const MAX_KEPT_ROWS = 10_000
/** Initial time range in which the page of a follower far behind is searched; it grows while nothing is found. */
const FIRST_STRETCH_US = 5_000_000
const LONGEST_STRETCH_US = 6 * 3_600_000_000
/** History is dropped by the day, so everything more recent than this still exists. */
export const SURELY_KEPT_US = 3_600_000_000
/** A remaining range no longer than this is read in one query. */
const NEAR_US = 5_000_000
/** Maximum number of empty ranges that one page skips. */
const MAX_EMPTY_STRETCHES = 50

/** Part of history after a position, and the position behind it. */
export interface HistoryPage {
  readonly rows: readonly HistoryEvent[]
  /** Returns the position of one of the rows, for a follower that stops in the middle. */
  positionAt(row: HistoryEvent): EventPosition
  readonly next: EventPosition
  /** Set if requested history before this instant has been deleted, or if the position belongs to another history. */
  readonly gap: Gap | null
}

/** Why events may be missing before a page. */
export interface Gap {
  readonly reason: 'history_dropped' | 'position_unknown'
  /** From when on all events are included, in epoch milliseconds. */
  readonly from: number
}

/** The result of one look. */
interface Look {
  readonly from: Frontier
  readonly to: Frontier
  readonly rows: readonly HistoryEvent[]
}

export interface HistoryTailOptions {
  readonly db: Database
  readonly log: Logger
  /** `history` by default. */
  readonly source?: EventSource
}

export class HistoryTail {
  readonly #db: Database
  readonly #log: Logger
  readonly #source: EventSource
  /** The results of the latest looks, each beginning where the previous one ended. */
  #looks: Look[] = []
  #kept = 0
  #front: Frontier | null = null
  #followers = 0
  #begun: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #waiting = new Set<() => void>()

  constructor({ db, log, source = 'history' }: HistoryTailOptions) {
    this.#db = db
    this.#log = log
    this.#source = source
  }

  /** Begins to follow; resolves once the current position is known. Returns the function that stops following. */
  async follow(): Promise<() => void> {
    this.#followers++
    let isFollowing = true
    const stop = () => {
      if (isFollowing) this.#followers--
      isFollowing = false
      if (this.#followers === 0) this.#rest()
    }
    try {
      this.#begun ??= this.#begin()
      await this.#begun
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  /** The position behind everything that was found so far. */
  get end(): EventPosition {
    if (this.#front === null) throw new Error('history has no follower')
    return { from: this.#front, to: null, at: null }
  }

  /** Returns what comes after a position; null if there is nothing yet. The caller must be following. */
  async page(position: EventPosition): Promise<HistoryPage | null> {
    const front = this.#front
    if (position.to === null && front !== null) {
      if (covers(position.from, front))
        return (await this.#isOfAnother(position.from)) ? this.#read(position) : null
      const look = this.#looks.findLast((look) => covers(position.from, look.from))
      if (look) return pageOf(look, position.from)
    }
    return this.#read(position)
  }

  #read(position: EventPosition): Promise<HistoryPage> {
    return readPage(this.#db, position, { source: this.#source })
  }

  /**
   * Whether a frontier belongs to another history, as after a restore from a backup: it has seen more transactions than exist.
   * A frontier from another node may be slightly ahead of this node's; that one waits until this node has caught up.
   */
  async #isOfAnother({ xmax }: Frontier): Promise<boolean> {
    if (this.#front === null || xmax <= this.#front.xmax) return false
    const [seen] = await this.#db.run(currentSnapshot())
    return xmax > readSnapshot(seen?.snapshot ?? '').xmax
  }

  /** Resolves when there may be new events, or after `ms`. */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      timer.unref()
      signal.addEventListener('abort', done)
      this.#waiting.add(done)
      if (signal.aborted) done()
    })
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#begun = undefined
    this.#front = null
    this.#looks = []
    this.#kept = 0
  }

  async #begin(): Promise<void> {
    this.#front = (await currentPosition(this.#db)).from
    this.#lookIn(EVERY_MS)
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#followers === 0) return
    this.#timer = setTimeout(() => void this.#lookAgain(), ms)
    this.#timer.unref()
  }

  async #lookAgain(): Promise<void> {
    const startedAt = performance.now()
    const begun = this.#begun
    let pauseMs = LONGEST_PAUSE_MS
    try {
      if (this.#front !== null) await this.#look(this.#front, () => this.#begun === begun)
      pauseMs = Math.max(EVERY_MS, (performance.now() - startedAt) * PAUSE_PER_MS)
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot read events; retrying')
    }
    if (this.#begun === begun) this.#lookIn(Math.min(LONGEST_PAUSE_MS, pauseMs))
  }

  async #look(from: Frontier, isCurrent: () => boolean): Promise<void> {
    const rows: HistoryEvent[] = []
    let position: EventPosition = { from, to: null, at: null }
    let to: Frontier | null = null
    do {
      const page: HistoryPage = await this.#read(position)
      rows.push(...page.rows)
      position = page.next
      to = position.to ?? position.from
    } while (position.to !== null && rows.length < MAX_LOOK_ROWS)
    if (!isCurrent()) return
    this.#front = to
    if (position.to === null) this.#keep({ from, to, rows })
    else {
      this.#looks = []
      this.#kept = 0
    }
    if (rows.length > 0) for (const wake of [...this.#waiting]) wake()
  }

  /** A look that found nothing only extends the previous one. */
  #keep(look: Look): void {
    const last = this.#looks.at(-1)
    if (look.rows.length === 0 && last) this.#looks[this.#looks.length - 1] = { ...last, to: look.to }
    else this.#looks.push(look)
    this.#kept += look.rows.length
    while (this.#kept > MAX_KEPT_ROWS) this.#kept -= this.#looks.shift()?.rows.length ?? 0
  }
}

/** Returns the part of a look that a follower has not seen. */
function pageOf({ to, rows }: Look, from: Frontier): HistoryPage {
  return {
    rows: rows.filter(({ xid }) => !hasSeen(from, xid)),
    positionAt: ({ us, id }) => ({ from, to, at: { us, id } }),
    next: { from: to, to: null, at: null },
    gap: null,
  }
}

/** Reads a part of history after a position from the database, for one stream or for all. */
export async function readPage(
  db: Database,
  position: EventPosition,
  { source: of = 'history', stream = null }: { source?: EventSource; stream?: string | null } = {},
): Promise<HistoryPage> {
  const source = TAIL_SOURCES[of]
  const [mark] = position.to === null ? await db.run(markTransactions()) : []
  return db.snapshot(async (tx) => {
    const isOld = (position.to?.fromUs ?? mark?.us ?? 0) - position.from.fromUs > SURELY_KEPT_US
    const [begin] = isOld ? await tx.run(source.begin()) : []
    const [seen] = await tx.run(currentSnapshot())
    const snapshot = seen?.snapshot ?? ''
    const { from, gap } = withoutGap(position, { snapshot, beginMs: begin?.at ?? 0 })
    const to = (gap === null ? position.to : null) ?? nextFrontier(from, snapshot, mark?.us ?? from.fromUs)
    const at = gap === null ? position.at : null
    const places = await nextPlaces(tx, { source, from, to, at, stream })
    const rows = await source.eventsAt(tx, places.found, to.xmax)
    return {
      rows: rows.filter(
        (row) =>
          !hasSeen(from, row.xid) && hasSeen(to, row.xid) && (stream === null || streamOf(row) === stream),
      ),
      positionAt: ({ us, id }) => ({ from, to, at: { us, id } }),
      next: places.at === null ? { from: to, to: null, at: null } : { from, to, at: places.at },
      gap,
    }
  })
}

/** Returns the position if history still contains it, otherwise the nearest one with the gap. */
function withoutGap(
  position: EventPosition,
  { snapshot, beginMs }: { snapshot: string; beginMs: number },
): { from: Frontier; gap: Gap | null } {
  const { xmax } = readSnapshot(snapshot)
  const { from } = position
  // A restored backup does not contain the transactions that came after it.
  if (from.xmax > xmax)
    return { from: frontierAt(from.fromUs), gap: { reason: 'position_unknown', from: from.fromUs / 1_000 } }
  if (reachedUs(position) / 1_000 >= beginMs) return { from, gap: null }
  return { from: frontierAt(beginMs * 1_000), gap: { reason: 'history_dropped', from: beginMs } }
}

/** The places of a page, and how far they reach; `at` is null if they are complete. */
interface Places {
  readonly found: readonly TailPlace[]
  readonly at: Place | null
}

/** What to search for: everything that became visible between two frontiers after a place, optionally of one stream. */
interface Between {
  readonly source: TailSource
  readonly from: Frontier
  readonly to: Frontier
  readonly at: Place | null
  readonly stream: string | null
}

async function nextPlaces(tx: Queryable, between: Between): Promise<Places> {
  const { from, to, at } = between
  const search = searchBetween(from, to)
  const { fromUs } = search
  if (at === null || at.us < fromUs) {
    const strays = await strayPlaces(tx, between)
    const last = strays.at(-1)
    if (strays.length >= PAGE_ROWS && last) return { found: strays, at: last }
    const main = await mainPlaces(tx, { ...between, at: null }, { fromUs, limit: PAGE_ROWS - strays.length })
    return { found: [...strays, ...main.found], at: main.at }
  }
  return mainPlaces(tx, between, { fromUs, limit: PAGE_ROWS })
}

/** Finds rows that ended long before they were stored, or that were stored by a long transaction. */
async function strayPlaces(tx: Queryable, { source, from, to, at: after }: Between): Promise<TailPlace[]> {
  const { fromUs: untilUs, long } = searchBetween(from, to)
  const storedFromUs = Math.min(untilUs, ...from.pending.map((p) => p.fromUs))
  const query = { untilUs, after, limit: PAGE_ROWS }
  const late = source.late === null ? [] : await tx.run(source.late({ ...query, storedFromUs }))
  const slow = long === null ? [] : await tx.run(source.ofTransactions({ ...query, long, xmax: to.xmax }))
  const known = new Set(late.map(({ id }) => id))
  const all = [...late, ...slow.filter(({ id }) => !known.has(id))]
  return all.sort((a, b) => (isAfter(a, b) ? 1 : -1)).slice(0, PAGE_ROWS)
}

/** Searches one range after another until rows are found or none are left. */
async function mainPlaces(
  tx: Queryable,
  { source, from, to, at, stream }: Between,
  { fromUs, limit }: { fromUs: number; limit: number },
): Promise<Places> {
  let beginUs = at === null ? fromUs : Math.max(fromUs, at.us)
  let stretchUs = FIRST_STRETCH_US
  for (let i = 0; i < MAX_EMPTY_STRETCHES; i++) {
    const untilUs = to.fromUs - beginUs <= NEAR_US ? null : beginUs + stretchUs
    const found = await tx.run(
      source.between({ from, to, fromUs: beginUs, untilUs, after: at, limit, stream }),
    )
    const last = found.at(-1)
    if (last && found.length >= limit) return { found, at: last }
    if (untilUs === null) return { found, at: null }
    beginUs = untilUs
    if (found.length > 0) return { found, at: { us: untilUs, id: NO_ID } }
    stretchUs = Math.min(LONGEST_STRETCH_US, stretchUs * 4)
  }
  return { found: [], at: { us: beginUs, id: NO_ID } }
}
