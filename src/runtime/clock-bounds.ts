/**
 * What readings of another clock reveal about it. A reading was taken some time between the request and the response, so it
 * bounds the offset between the two clocks from both sides. As a reading ages, its bounds diverge at the maximum drift of the
 * clocks. Each bound is a straight line with the same slope for all readings, so the best one remains the best.
 */

/** A reading of another clock: `at` is its time, the other two are times of our own monotonic clock. */
export interface Reading {
  readonly sentAt: number
  readonly receivedAt: number
  readonly at: number
}

/** Bounds of the offset, extrapolated to time zero of our own clock. */
export interface Bounds {
  readonly rate: number
  readonly least: number
  readonly most: number
}

/** The combined bounds of several readings, if the clocks drift apart by at most `rate`. */
export function boundsOf(readings: readonly Reading[], rate: number): Bounds {
  let least = Number.NEGATIVE_INFINITY
  let most = Number.POSITIVE_INFINITY
  for (const { sentAt, receivedAt, at } of readings) {
    least = Math.max(least, at - receivedAt + rate * receivedAt)
    most = Math.min(most, at - sentAt - rate * sentAt)
  }
  return { rate, least, most }
}

/** The smallest possible offset at an instant of the local clock. */
export const leastAt = ({ least, rate }: Bounds, monotonic: number): number => least - rate * monotonic

/** The largest possible offset at an instant of the local clock. */
export const mostAt = ({ most, rate }: Bounds, monotonic: number): number => most + rate * monotonic

/** By how much a reading lies outside the bounds: negative below them, positive above them, 0 within. */
export function outside(bounds: Bounds, { sentAt, receivedAt, at }: Reading): number {
  const before = at - sentAt - leastAt(bounds, receivedAt)
  const behind = at - receivedAt - mostAt(bounds, receivedAt)
  return before < 0 ? before : Math.max(0, behind)
}
