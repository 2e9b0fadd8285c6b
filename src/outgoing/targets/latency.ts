/**
 * Percentiles of the answer times of a target. Durations are counted in buckets that grow by a fifth, so a percentile is off by
 * at most a tenth. Older durations lose half their weight whenever enough newer ones have been counted.
 */

const BUCKETS_PER_DOUBLING = 4
/** Two hours; longer attempts need not be distinguished. */
const MAX_BUCKET = 23 * BUCKETS_PER_DOUBLING
/** Once the counts add up to this, all are halved. */
const MAX_WEIGHT = 2_000

export class LatencyHistogram {
  /** Has as many buckets as the slowest answer so far needs. */
  readonly #counts: number[] = []
  #total = 0

  get count(): number {
    return this.#total
  }

  add(durationMs: number): void {
    const bucket = durationMs <= 1 ? 0 : Math.ceil(Math.log2(durationMs) * BUCKETS_PER_DOUBLING)
    const index = Math.min(bucket, MAX_BUCKET)
    while (this.#counts.length <= index) this.#counts.push(0)
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#total++
    if (this.#total >= MAX_WEIGHT) this.#halve()
  }

  /** Returns the duration that a fraction of the answers (0 to 1) does not exceed; null before the first answer. */
  percentile(part: number): number | null {
    if (this.#total === 0) return null
    let left = Math.max(1, Math.ceil(part * this.#total))
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count
      if (left <= 0) return middleOf(bucket)
    }
    return middleOf(this.#counts.length - 1)
  }

  #halve(): void {
    this.#total = 0
    for (const [bucket, count] of this.#counts.entries()) {
      this.#counts[bucket] = count >> 1
      this.#total += count >> 1
    }
  }
}

/**
 * Returns 1 for the first bucket, which ends at one millisecond, and otherwise the bucket's midpoint in milliseconds with three
 * digits.
 */
function middleOf(bucket: number): number {
  if (bucket === 0) return 1
  return Number((2 ** ((bucket - 0.5) / BUCKETS_PER_DOUBLING)).toPrecision(3))
}
