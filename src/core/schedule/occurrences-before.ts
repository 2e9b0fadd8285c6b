/**
 * The occurrences of a plan in reverse chronological order. A schedule can only be stepped forwards, so the latest occurrence
 * of a period is found by bisection, and earlier ones by stepping through short blocks. However unevenly the occurrences are
 * distributed (every second of January, seen from November), no search steps through more than a block.
 */
import { nextOccurrence } from './occurrences.ts'
import type { Plan } from './schedule.ts'

/** The period [from, before). */
export interface StretchBefore {
  readonly from: number
  readonly before: number
}

const SHORTEST_MS = 10
const GROWTH = 4
/** A block with fewer occurrences is followed by a longer one. */
const FEW = 64
/** A block with more occurrences is shortened. The shortest block never has as many. */
const MANY = 256

/** The last occurrences of the period, the latest first. */
export function occurrencesBefore(plan: Plan, stretch: StretchBefore & { readonly limit: number }): number[] {
  const found: number[] = []
  for (const at of backwards(plan, stretch)) {
    if (found.length === stretch.limit) break
    found.push(at)
  }
  return found
}

/** All occurrences of the period, the latest first. */
export function* backwards(plan: Plan, { from, before }: StretchBefore): Generator<number, void, undefined> {
  let lengthMs = SHORTEST_MS
  let latest = latestBetween(plan, { from, to: before - 1 })
  while (latest !== null) {
    const begin = Math.max(from, latest - lengthMs)
    const block = blockUpTo(plan, begin, latest)
    if (block === null) {
      lengthMs = Math.max(SHORTEST_MS, Math.floor(lengthMs / GROWTH))
      continue
    }
    if (block.length < FEW) lengthMs *= GROWTH
    yield* block.reverse()
    latest = latestBetween(plan, { from, to: begin - 1 })
  }
}

/** The occurrences in [from, to], in order; null if there are too many. */
function blockUpTo(plan: Plan, from: number, to: number): number[] | null {
  const block: number[] = []
  for (let at = nextOccurrence(plan, from - 1); at !== null && at <= to; at = nextOccurrence(plan, at)) {
    if (block.length === MANY) return null
    block.push(at)
  }
  return block
}

/** The latest occurrence in [from, to]. */
export function latestBetween(
  plan: Plan,
  { from, to }: { readonly from: number; readonly to: number },
): number | null {
  let latest = anyBetween(plan, from, to)
  if (latest === null) return null
  // No occurrence lies in [end, to].
  let end = Math.floor(to) + 1
  while (end - latest > 1) {
    const middle = latest + Math.ceil((end - latest) / 2)
    const next = nextOccurrence(plan, middle - 1)
    if (next !== null && next < end) latest = next
    else end = middle
  }
  return latest
}

/** Finds an occurrence near the end of a period, searching from there in growing steps. */
function anyBetween(plan: Plan, from: number, to: number): number | null {
  for (let lengthMs = SHORTEST_MS; ; lengthMs *= GROWTH) {
    const begin = Math.max(from, to - lengthMs)
    const next = nextOccurrence(plan, begin - 1)
    if (next !== null && next <= to) return next
    if (begin === from) return null
  }
}
