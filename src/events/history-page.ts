/**
 * Reads history after a position, page by page: the rows that became visible between two frontiers, by the time they ended. If
 * history no longer contains the position, the page says which part is missing.
 */
import {
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
import { currentSnapshot, markTransactions } from '../store/history/ended-runs.ts'
import { NO_ID } from '../store/history/run-search.ts'
import { TAIL_SOURCES, type TailPlace, type TailSource } from './tail-source.ts'

/** Maximum number of runs in one page. */
export const PAGE_ROWS = 500
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
