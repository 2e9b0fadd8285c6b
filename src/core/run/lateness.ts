/**
 * Histograms of lateness, which store many runs when only percentiles matter. Histograms of different periods can be added, and
 * the error of a percentile is less than the width of a bucket.
 */

/** Boundaries of the buckets in milliseconds: bucket 0 is below the first one, the last bucket has no upper bound. */
export const LATENESS_BOUNDS: readonly number[] = [
  1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600,
  800, 1_000, 1_200, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000, 15_000, 20_000, 30_000,
  45_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000,
]

/** Number of runs in each bucket; 0 for absent ones. */
export type LatenessBuckets = Readonly<Record<number, number>>

export function addBuckets(parts: readonly LatenessBuckets[]): LatenessBuckets {
  const sum: Record<number, number> = {}
  for (const part of parts)
    for (const [bucket, count] of Object.entries(part))
      sum[Number(bucket)] = (sum[Number(bucket)] ?? 0) + count
  return sum
}

/** The lateness that a share of the runs did not exceed, in whole milliseconds; null if there are no runs. */
export function latenessAt(buckets: LatenessBuckets, share: number): number | null {
  const total = Object.values(buckets).reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = share * total
  for (let bucket = 0; bucket <= LATENESS_BOUNDS.length; bucket++) {
    const count = buckets[bucket] ?? 0
    if (count > 0 && left <= count) return Math.round(within(bucket, left / count))
    left -= count
  }
  return LATENESS_BOUNDS.at(-1) ?? null
}

/** Interpolates within a bucket, assuming that its runs are evenly distributed. The last bucket has no upper bound. */
function within(bucket: number, part: number): number {
  const from = bucket === 0 ? 0 : (LATENESS_BOUNDS[bucket - 1] ?? 0)
  const to = LATENESS_BOUNDS[bucket] ?? from
  return from + (to - from) * part
}
