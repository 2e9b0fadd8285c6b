/**
 * Follows history for all on a node who want to know what ends: while somebody does, it looks a few times a second,
 * and keeps the latest of what it found. Whoever is further behind reads history on their own, page by page.
 * While nobody follows, nothing is done.
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

/** How often the database is asked, at most; and never so often that it takes more than a fifth of the time. */
const EVERY_MS = 250
const PAUSE_PER_MS = 4
const LONGEST_PAUSE_MS = 5_000
/** Runs that one page holds. */
export const PAGE_ROWS = 500
/** Runs that one look takes in before it leaves the rest to whoever wants them. */
const MAX_LOOK_ROWS = 5_000
/** Runs that are kept for those who are a little behind. */
const MAX_KEPT_ROWS = 10_000
/** A stretch of time that a page of somebody far behind is looked for in, at first; it grows while nothing is found. */
const FIRST_STRETCH_US = 5_000_000
const LONGEST_STRETCH_US = 6 * 3_600_000_000
/** History is dropped by the day: what lies no further back than this is there. */
const SURELY_KEPT_US = 3_600_000_000
/** What is nearer to the end than this is read in one. */
const NEAR_US = 5_000_000
/** Stretches without anything that one page passes over. */
const MAX_EMPTY_STRETCHES = 50

/** Some of history after a position, and the position behind it. */
export interface HistoryPage {
  readonly rows: readonly HistoryEvent[]
  /** Where each of the rows stands, for whoever stops in the middle. */
  positionAt(row: HistoryEvent): EventPosition
  readonly next: EventPosition
  /** History before this instant is gone, and some of it was asked for; or it is another history. */
  readonly gap: Gap | null
}

/** Why something may be missing before a page. */
export interface Gap {
  readonly reason: 'history_dropped' | 'position_unknown'
  /** From when on, in epoch milliseconds, everything is told. */
  readonly from: number
}

/** What one look found. */
interface Look {
  readonly from: Frontier
  readonly to: Frontier
  readonly rows: readonly HistoryEvent[]
}

export interface HistoryTailOptions {
  readonly db: Database
  readonly log: Logger
  /** Default history. */
  readonly source?: EventSource
}

export class HistoryTail {
  readonly #db: Database
  readonly #log: Logger
  readonly #source: EventSource
  /** What the latest looks found, each beginning where the one before ended. */
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

  /** Begins to follow; resolves once there is a position that everything to come is behind. */
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

  /** What comes after a position, or null when that is nothing yet. The caller must be following. */
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
   * Whether a frontier is none of this history's, as after a backup was restored: it has seen more than there is. It may
   * also have seen a little more than this node, by another one; then it waits until this one has seen as much.
   */
  async #isOfAnother({ xmax }: Frontier): Promise<boolean> {
    if (this.#front === null || xmax <= this.#front.xmax) return false
    const [seen] = await this.#db.run(currentSnapshot())
    return xmax > readSnapshot(seen?.snapshot ?? '').xmax
  }

  /** Resolves when there may be something new, or after so long. */
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

  /** A look that found nothing only moves the end of the one before it. */
  #keep(look: Look): void {
    const last = this.#looks.at(-1)
    if (look.rows.length === 0 && last) this.#looks[this.#looks.length - 1] = { ...last, to: look.to }
    else this.#looks.push(look)
    this.#kept += look.rows.length
    while (this.#kept > MAX_KEPT_ROWS) this.#kept -= this.#looks.shift()?.rows.length ?? 0
  }
}

/** What of a look somebody has not seen. */
function pageOf({ to, rows }: Look, from: Frontier): HistoryPage {
  return {
    rows: rows.filter(({ xid }) => !hasSeen(from, xid)),
    positionAt: ({ us, id }) => ({ from, to, at: { us, id } }),
    next: { from: to, to: null, at: null },
    gap: null,
  }
}

/** Some of history behind a position, as it is read from the database; of one stream or of all. */
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

/** A position that history still has, or the nearest one. */
function withoutGap(
  { from }: EventPosition,
  { snapshot, beginMs }: { snapshot: string; beginMs: number },
): { from: Frontier; gap: Gap | null } {
  const { xmax } = readSnapshot(snapshot)
  const fromMs = from.fromUs / 1_000
  // A backup that was restored knows nothing of transactions that came after it.
  if (from.xmax > xmax)
    return { from: frontierAt(from.fromUs), gap: { reason: 'position_unknown', from: fromMs } }
  if (fromMs >= beginMs) return { from, gap: null }
  return { from: frontierAt(beginMs * 1_000), gap: { reason: 'history_dropped', from: beginMs } }
}

/** Places of a page, and how far they reach; null when that is all. */
interface Places {
  readonly found: readonly TailPlace[]
  readonly at: Place | null
}

/** What to look for: all that became visible between two frontiers and stands behind a place, or what of it is of one stream. */
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

/** What ended long before it was stored, or was stored by a transaction that took long. */
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

/** Stretch after stretch until something is found, or nothing is left. */
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
