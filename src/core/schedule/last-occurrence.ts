import { dueAt, nextOccurrence, occurrencesBetween } from './occurrences.ts'
import type { Plan } from './schedule.ts'

const FIRST_STEP_BACK_MS = 1_000

/**
 * The last occurrence that has come due in a stretch of time that begins with one. Looks back from the end in growing
 * strides until something lies in between, so that a year of missed seconds costs no more than a minute.
 */
export function lastOccurrence(plan: Plan, { from, to }: { from: number; to: number }): number {
  for (let step = FIRST_STEP_BACK_MS; ; step *= 4) {
    const start = Math.max(from, to - step)
    let last = start === from ? from : null
    for (
      let at = nextOccurrence(plan, start);
      at !== null && dueAt(plan, at) <= to;
      at = nextOccurrence(plan, at)
    )
      last = at
    if (last !== null) return last
  }
}

/** The last occurrences at or after an instant and up to another, at most so many, in order. */
export function lastOccurrences(
  plan: Plan,
  { from, to, limit }: { from: number; to: number; limit: number },
): number[] {
  for (let step = FIRST_STEP_BACK_MS; ; step *= 4) {
    const after = Math.max(from - 1, to - step)
    const found = [...occurrencesBetween(plan, after, to, Number.MAX_SAFE_INTEGER)]
    // Only the latest can still be put off: jitter ends before the next occurrence.
    const latest = found.at(-1)
    if (latest !== undefined && dueAt(plan, latest) > to) found.pop()
    if (found.length >= limit || after === from - 1) return found.slice(-limit)
  }
}
