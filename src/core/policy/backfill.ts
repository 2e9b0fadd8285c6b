/**
 * Backfills: runs for past occurrences in a range that a user requests. Everything here is a pure function of the request and
 * of its progress, so any node can continue where another one stopped.
 */
import { occurrencesBetween } from '../schedule/occurrences.ts'
import { backwards } from '../schedule/occurrences-before.ts'
import type { Plan } from '../schedule/schedule.ts'
import type { Steps } from '../values/steps.ts'

export const BACKFILL_STATES = ['running', 'completed', 'cancelled'] as const
export type BackfillState = (typeof BACKFILL_STATES)[number]

export const BACKFILL_ORDERS = ['oldest_first', 'newest_first'] as const
export type BackfillOrder = (typeof BACKFILL_ORDERS)[number]

/** How runs of a backfill overlap with other runs of their task: one after another, or concurrently. */
export const BACKFILL_OVERLAPS = ['queue_all', 'allow'] as const
export type BackfillOverlap = (typeof BACKFILL_OVERLAPS)[number]

/** Maximum number of occurrences in the range of one backfill. */
export const MAX_BACKFILL_OCCURRENCES = 100_000

/**
 * Added to the priority of the task. It exceeds the priorities that users can choose, so that every run on time goes first, and
 * also the penalty of catch-up runs, which are owed, while a backfill is optional.
 */
export const BEHIND_ON_TIME = 20_000

/** The remainder of a range, and the order in which it is processed. */
export interface BackfillRange {
  /** The range is [from, to). */
  readonly from: number
  readonly to: number
  readonly newestFirst: boolean
  /** The occurrence that was processed last. */
  readonly position: number | null
}

/** The remaining occurrences of a range, in its order. */
export function occurrencesOfRange(plan: Plan, range: BackfillRange): Generator<number, void, undefined> {
  const { from, to, newestFirst, position } = range
  return newestFirst
    ? backwards(plan, { from, before: position ?? to })
    : occurrencesBetween(plan, position ?? from - 1, to - 1, Number.POSITIVE_INFINITY)
}

/** The next occurrences of a range, at most `limit`, in its order. */
export function* nextOfRange(plan: Plan, range: BackfillRange, limit: number): Steps<number[]> {
  const found: number[] = []
  for (const at of occurrencesOfRange(plan, range)) {
    found.push(at)
    if (found.length === limit) break
    yield
  }
  return found
}
