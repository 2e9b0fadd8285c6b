import type { Steps } from '../values/steps.ts'
import { dueAt } from './occurrences.ts'
import { backwards, latestBetween } from './occurrences-before.ts'
import type { Plan } from './schedule.ts'

/** The last occurrence in [from, to] that has come due, including jitter. `from` must be an occurrence. */
export function lastOccurrence(plan: Plan, { from, to }: { from: number; to: number }): number {
  const latest = latestBetween(plan, { from: from + 1, to })
  if (latest === null) return from
  if (dueAt(plan, latest) <= to) return latest
  // Only the latest occurrence can still be delayed: jitter ends before the next occurrence.
  return latestBetween(plan, { from: from + 1, to: latest - 1 }) ?? from
}

/** The last occurrences in [from, to], at most `limit`, in chronological order. */
export function* lastOccurrences(
  plan: Plan,
  { from, to, limit }: { from: number; to: number; limit: number },
): Steps<number[]> {
  const found: number[] = []
  for (const at of backwards(plan, { from, before: Math.floor(to) + 1 })) {
    if (found.length === limit) break
    const isPutOff = found.length === 0 && dueAt(plan, at) > to
    if (!isPutOff) found.push(at)
    yield
  }
  return found.reverse()
}
