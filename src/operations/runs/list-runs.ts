/**
 * Lists runs across all tasks: reads one time window after another, backwards, until the page is full. How long a window must
 * be to fill a page is not known in advance, so windows grow while they contain too few runs and shrink when they contain more
 * rows than may be examined. store/run-search.ts explains what is read and why.
 */
import { type EndedRunState, isLiveState, type RunState } from '../../core/run/run.ts'
import type { Queryable } from '../../store/database/database.ts'
import {
  historyBeginOf,
  NO_ID,
  type RunPosition,
  retryingBeforeHistory,
  runsById,
  runsEndedAs,
  runsInWindow,
} from '../../store/history/run-search.ts'
import type { RunRow } from '../../store/history/runs.ts'
import type { Context } from '../context.ts'

/** Which runs to list. Instants are epoch milliseconds. */
export interface RunListQuery {
  readonly state: RunState | null
  readonly from: number | null
  readonly to: number | null
  readonly after: RunListPosition | null
  readonly limit: number
}

/** Where a page ended, and the length of the window that filled it, with which the next page begins. */
export interface RunListPosition extends RunPosition {
  readonly windowMs: number
}

/** A page of runs. It may have fewer runs than the limit, even none, although more follow. */
export interface RunListPage {
  readonly rows: readonly RunRow[]
  /** Where the next page begins; null if this is the last page. */
  readonly next: RunListPosition | null
}

/** A run is fired a moment before it is due. */
const AHEAD_MS = 1_000
const FIRST_WINDOW_MS = 2_000
const GROWTH = 8
const SHRINKING = 16
/** A window this short is read in full, however many runs it contains: many runs may be due at one instant. */
const SHORTEST_WINDOW_MS = 1
export const LONGEST_WINDOW_MS = 100 * 365 * 86_400_000
/** Maximum number of rows of each table that one window examines: a few milliseconds of work. */
const MAX_EXAMINED = 10_000
/** Maximum number of windows that one page tries; the next page continues from there. */
const MAX_WINDOWS = 24

/** Lists runs. All statements of a page use one snapshot, so a run that ends meanwhile is neither missed nor listed twice. */
export function listRuns(context: Context, query: RunListQuery): Promise<RunListPage> {
  const { state } = query
  const find = hasOwnIndex(state)
    ? (tx: Queryable) => findByState(tx, context, { ...query, state })
    : (tx: Queryable) => findByTime(tx, context, query)
  return context.db.snapshot(
    async (tx) => {
      const { found, next } = await find(tx)
      const rows = await readRuns(tx, found)
      const last = rows.at(-1)
      // If the page was cut because of its size, it ends with the last run that was read.
      const end = last?.hasNext ? found.find(({ id }) => id === last.id) : undefined
      return { rows, next: end ? { ...end, windowMs: next?.windowMs ?? FIRST_WINDOW_MS } : next }
    },
    { inOrder: hasOwnIndex(state) },
  )
}

interface Found {
  readonly found: readonly RunPosition[]
  readonly next: RunListPosition | null
}

const hasOwnIndex = (state: RunState | null): state is Exclude<EndedRunState, 'completed'> =>
  state !== null && state !== 'completed' && !isLiveState(state)

/** Returns the position from which the search goes backwards. */
function beginning({ clock }: Context, { after, to }: RunListQuery): RunPosition {
  if (after !== null) return after
  return {
    us: Math.floor(Math.min(clock.now() + AHEAD_MS, to ?? Number.POSITIVE_INFINITY)) * 1_000,
    id: NO_ID,
  }
}

async function findByState(
  tx: Queryable,
  context: Context,
  query: RunListQuery & { state: Exclude<EndedRunState, 'completed'> },
): Promise<Found> {
  const { state, from, limit } = query
  const fromUs = from === null ? null : from * 1_000
  const before = beginning(context, query)
  const { projectId } = context
  const found = await tx.run(runsEndedAs({ projectId, state, fromUs, before, limit: limit + 1 }))
  return cutToPage(found, { limit, windowMs: FIRST_WINDOW_MS, rest: null })
}

async function findByTime(tx: Queryable, context: Context, query: RunListQuery): Promise<Found> {
  const { state, from, limit } = query
  const { projectId } = context
  const fromUs = from === null ? null : from * 1_000
  const [begin] = await tx.run(historyBeginOf(projectId))
  const historyFromUs = (begin?.at ?? 0) * 1_000
  const beginUs = Math.max(fromUs ?? 0, historyFromUs)
  const found: RunPosition[] = []
  let before = beginning(context, query)
  let windowMs = query.after?.windowMs ?? FIRST_WINDOW_MS
  for (let tries = 0; tries < MAX_WINDOWS && found.length <= limit; tries++) {
    const sinceUs = before.us - windowMs * 1_000
    const isLast = sinceUs <= beginUs
    const rows = await tx.run(
      runsInWindow({
        projectId,
        state,
        fromUs: isLast ? fromUs : sinceUs,
        historyFromUs,
        before,
        limit: limit + 1 - found.length,
        maxExamined: windowMs > SHORTEST_WINDOW_MS ? MAX_EXAMINED : null,
      }),
    )
    if (rows[0]?.isCut) {
      windowMs = shorter(isLast ? (before.us - beginUs) / 1_000 : windowMs)
      continue
    }
    for (const { id, us } of rows) if (id !== null && us !== null) found.push({ id, us })
    if (isLast) {
      if (state === null || state === 'retrying')
        found.push(
          ...(await tx.run(
            retryingBeforeHistory({ projectId, fromUs, historyFromUs, before, limit: limit + 1 }),
          )),
        )
      return cutToPage(found.sort(latestFirst), { limit, windowMs, rest: null })
    }
    before = { us: sinceUs, id: NO_ID }
    if (found.length <= limit) windowMs = Math.min(windowMs * GROWTH, LONGEST_WINDOW_MS)
  }
  return cutToPage(found, { limit, windowMs, rest: before })
}

const latestFirst = (a: RunPosition, b: RunPosition) => b.us - a.us || (a.id < b.id ? 1 : -1)

const shorter = (windowMs: number): number =>
  Math.max(SHORTEST_WINDOW_MS, Math.floor(Math.max(0, windowMs) / SHRINKING))

/** Cuts the runs to the page, and returns where the next page begins: after its last run, or where the search stopped. */
function cutToPage(
  found: readonly RunPosition[],
  { limit, windowMs, rest }: { limit: number; windowMs: number; rest: RunPosition | null },
): Found {
  const last = found.length > limit ? found[limit - 1] : rest
  return { found: found.slice(0, limit), next: last ? { us: last.us, id: last.id, windowMs } : null }
}

async function readRuns(tx: Queryable, found: readonly RunPosition[]): Promise<RunRow[]> {
  const last = found.at(-1)
  if (last === undefined) return []
  return tx.run(runsById({ ids: found.map(({ id }) => id), endedFromUs: last.us }))
}
