/**
 * Backfills: runs for occurrences of the past, asked for by the range. Everything here is a pure function of what
 * was asked for and how far it has come, so any node goes on where another left off.
 */
import { occurrencesBetween } from '../schedule/occurrences.ts'
import { backwards } from '../schedule/occurrences-before.ts'
import type { Plan } from '../schedule/schedule.ts'
import type { Steps } from '../values/steps.ts'

export const BACKFILL_STATES = ['running', 'completed', 'cancelled'] as const
export type BackfillState = (typeof BACKFILL_STATES)[number]

export const BACKFILL_ORDERS = ['oldest_first', 'newest_first'] as const
export type BackfillOrder = (typeof BACKFILL_ORDERS)[number]

/** How runs of a backfill meet other runs of their task: one after another, or side by side. */
export const BACKFILL_OVERLAPS = ['queue_all', 'allow'] as const
export type BackfillOverlap = (typeof BACKFILL_OVERLAPS)[number]

/** Occurrences that the range of one backfill may hold. */
export const MAX_BACKFILL_OCCURRENCES = 100_000

/**
 * Added to the priority of the task: beyond what users can choose, so that everything on time goes first, and beyond what makes
 * up for an outage, which is owed where a backfill is a wish.
 */
export const BEHIND_ON_TIME = 20_000

/** What is left of a range, and in which order it is gone through. */
export interface BackfillRange {
  /** The range, without its end. */
  readonly from: number
  readonly to: number
  readonly newestFirst: boolean
  /** The occurrence that was looked at last. */
  readonly position: number | null
}

/** What is left of a range, in its order. */
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
