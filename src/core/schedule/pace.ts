/** How often a plan is due: what a project may limit. */
import { parseDuration } from '../values/duration.ts'
import { nextOccurrence } from './occurrences.ts'
import type { Plan } from './schedule.ts'

/**
 * So many occurrences are looked at, and those of two years: every minute of half a day, every day of both years.
 * It bounds the work, of which most is finding the clock changes of a year; what shows only later is let pass.
 */
export const PACE_SAMPLE = 1_000
const PACE_YEARS_MS = 2 * 366 * 86_400_000

/** The distances between neighbouring occurrences, and to the first of them. */
export interface Pace {
  /** Null with fewer than two occurrences. */
  readonly shortestMs: number | null
  readonly longestMs: number | null
  /** The first occurrence; null when there is none by time. */
  readonly first: number | null
}

/** The pace of a plan from an instant on. A `delay` goes at least by its interval, whatever its runs take. */
export function paceOf(plan: Plan, from: number): Pace {
  const { schedule } = plan
  if (schedule.type === 'every' || schedule.type === 'delay') {
    const parsed = parseDuration(schedule.interval)
    const interval = parsed.ok ? parsed.ms : null
    const first =
      schedule.type === 'delay' ? Math.max(from, plan.startAt ?? from) : nextOccurrence(plan, from)
    return { shortestMs: interval, longestMs: interval, first }
  }
  const first = nextOccurrence(plan, from)
  let [shortestMs, longestMs, before] = [Number.POSITIVE_INFINITY, 0, first]
  for (let seen = 1; seen < PACE_SAMPLE && before !== null; seen += 1) {
    const at = nextOccurrence(plan, before)
    if (at === null) break
    shortestMs = Math.min(shortestMs, at - before)
    longestMs = Math.max(longestMs, at - before)
    before = at
    if (at > from + PACE_YEARS_MS) break
  }
  return longestMs === 0 ? { shortestMs: null, longestMs: null, first } : { shortestMs, longestMs, first }
}
