/** The occurrences of a plan in the order from late to early. A schedule can only be stepped forwards. */
import { occurrencesBetween } from './occurrences.ts'
import type { Plan } from './schedule.ts'

/** A stretch to look for occurrences in, its beginning included and its end not. */
export interface StretchBefore {
  readonly from: number
  readonly before: number
  readonly limit: number
}

const SHORTEST_MS = 1_000
/** A stretch that holds too few is tried again so much longer: at most a few times as many steps as wanted. */
const GROWTH = 4

/** The last `limit` occurrences of the stretch, the latest first. */
export function occurrencesBefore(plan: Plan, { from, before, limit }: StretchBefore): number[] {
  for (let lengthMs = SHORTEST_MS; ; lengthMs *= GROWTH) {
    const begin = Math.max(from, before - lengthMs)
    const found = [...occurrencesBetween(plan, begin - 1, before - 1, Number.POSITIVE_INFINITY)]
    if (found.length >= limit || begin <= from) return found.reverse().slice(0, limit)
  }
}
