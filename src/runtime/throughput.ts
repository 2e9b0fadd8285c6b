const WINDOW_MS = 1_000
const BUCKET_MS = 20

/**
 * The number of events per second, measured over the last second. It rises within milliseconds and falls to zero within a
 * second.
 */
export class Throughput {
  readonly #monotonic: () => number
  readonly #bucketMs: number
  readonly #counts: number[]
  #bucket = 0
  /** The bucket in which the present stretch of activity began. */
  #since = 0
  #total = 0

  /** Longer buckets take less memory but make the rate change in larger steps; a second must be a multiple of their length. */
  constructor(monotonic: () => number = () => performance.now(), bucketMs = BUCKET_MS) {
    this.#monotonic = monotonic
    this.#bucketMs = bucketMs
    this.#counts = new Array<number>(WINDOW_MS / bucketMs).fill(0)
  }

  count(now = this.#monotonic()): void {
    this.#advance(now)
    if (this.#total === 0) this.#since = this.#bucket
    const index = this.#bucket % this.#counts.length
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#total++
  }

  perSecond(): number {
    this.#advance(this.#monotonic())
    const buckets = Math.min(this.#counts.length, this.#bucket - this.#since + 1)
    return (this.#total * 1_000) / (buckets * this.#bucketMs)
  }

  #advance(now: number): void {
    const bucket = Math.floor(now / this.#bucketMs)
    if (bucket === this.#bucket) return
    const steps = Math.min(bucket - this.#bucket, this.#counts.length)
    for (let i = 1; i <= steps; i++) {
      const index = (this.#bucket + i) % this.#counts.length
      this.#total -= this.#counts[index] ?? 0
      this.#counts[index] = 0
    }
    this.#bucket = bucket
  }
}
