/**
 * What readings of another clock tell about it. A reading was made some time between the question and the answer, so it
 * bounds the offset between the two clocks from both sides. As it ages, the bounds part by the rate at which the clocks
 * may part. Each bound is a straight line of the same slope for all readings, so the best one stays the best.
 */

/** What another clock said: `at` is its time, the two others are of our own monotonic clock. */
export interface Reading {
  readonly sentAt: number
  readonly receivedAt: number
  readonly at: number
}

/** Bounds of the offset, each as it would be at the zero of our own clock. */
export interface Bounds {
  readonly rate: number
  readonly least: number
  readonly most: number
}

/** What several readings tell together, if the clocks part by no more than `rate`. */
export function boundsOf(readings: readonly Reading[], rate: number): Bounds {
  let least = Number.NEGATIVE_INFINITY
  let most = Number.POSITIVE_INFINITY
  for (const { sentAt, receivedAt, at } of readings) {
    least = Math.max(least, at - receivedAt + rate * receivedAt)
    most = Math.min(most, at - sentAt - rate * sentAt)
  }
  return { rate, least, most }
}

/** The smallest offset possible at an instant of our own clock. */
export const leastAt = ({ least, rate }: Bounds, monotonic: number): number => least - rate * monotonic

/** The largest. */
export const mostAt = ({ most, rate }: Bounds, monotonic: number): number => most + rate * monotonic

/** By how much a reading lies outside the bounds: negative before them, positive behind them, 0 within. */
export function outside(bounds: Bounds, { sentAt, receivedAt, at }: Reading): number {
  const before = at - sentAt - leastAt(bounds, receivedAt)
  const behind = at - receivedAt - mostAt(bounds, receivedAt)
  return before < 0 ? before : Math.max(0, behind)
}
