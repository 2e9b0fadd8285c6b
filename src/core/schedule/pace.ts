/** How often a plan is due, which a project can limit. */
import { parseDuration } from '../values/duration.ts'
import { nextOccurrence } from './occurrences.ts'
import type { Plan } from './schedule.ts'

/**
 * At most this many occurrences are checked, and at most those of two years: every minute of half a day, every day of both
 * years. This bounds the work, most of which is finding the clock changes of each year. A violation that appears only later is
 * accepted.
 */
export const PACE_SAMPLE = 1_000
const PACE_YEARS_MS = 2 * 366 * 86_400_000

/** The distances between consecutive occurrences, and the first occurrence. */
export interface Pace {
  /** Null if there are fewer than two occurrences. */
  readonly shortestMs: number | null
  readonly longestMs: number | null
  /** The first occurrence; null if there is none. */
  readonly first: number | null
}

/** The pace of a plan from an instant on. Runs of a `delay` are at least its interval apart, however short they are. */
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
