import type { Steps } from '../values/steps.ts'
import { dueAt } from './occurrences.ts'
import { backwards, latestBetween } from './occurrences-before.ts'
import type { Plan } from './schedule.ts'

/** The last occurrence that has come due in a stretch of time that begins with one. */
export function lastOccurrence(plan: Plan, { from, to }: { from: number; to: number }): number {
  const latest = latestBetween(plan, { from: from + 1, to })
  if (latest === null) return from
  if (dueAt(plan, latest) <= to) return latest
  // Only the latest can still be put off: jitter ends before the next occurrence.
  return latestBetween(plan, { from: from + 1, to: latest - 1 }) ?? from
}

/** The last occurrences at or after an instant and up to another, at most so many, in order. */
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
