/**
 * How long the answers of a target take, as percentiles. Durations are counted in buckets that grow by a fifth, so that a percentile
 * is at most a tenth off; older ones lose weight by half whenever enough have come after them.
 */

const BUCKETS_PER_DOUBLING = 4
/** Two hours; no attempt that takes longer needs to be told apart. */
const MAX_BUCKET = 23 * BUCKETS_PER_DOUBLING
const MAX_COUNTED = 2_000

export class LatencyHistogram {
  /** As many as the slowest answer so far needs. */
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
    if (this.#total >= MAX_COUNTED) this.#halve()
  }

  /** The duration that a part of the answers (0 to 1) does not exceed; null before the first one. */
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

/** The first bucket is up to a millisecond; of the others the middle, in milliseconds with three digits. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 1
  return Number((2 ** ((bucket - 0.5) / BUCKETS_PER_DOUBLING)).toPrecision(3))
}
