const WINDOW_MS = 1_000
const BUCKET_MS = 20
const BUCKETS = WINDOW_MS / BUCKET_MS

/** How many things happen a second, judged by the last one. Rises within milliseconds, forgets within a second. */
export class Throughput {
  readonly #monotonic: () => number
  readonly #counts = new Array<number>(BUCKETS).fill(0)
  #bucket = 0
  /** The bucket in which the present stretch of activity began. */
  #since = 0
  #total = 0

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic
  }

  count(): void {
    this.#advance()
    if (this.#total === 0) this.#since = this.#bucket
    this.#counts[this.#bucket % BUCKETS] = (this.#counts[this.#bucket % BUCKETS] ?? 0) + 1
    this.#total++
  }

  perSecond(): number {
    this.#advance()
    const buckets = Math.min(BUCKETS, this.#bucket - this.#since + 1)
    return (this.#total * 1_000) / (buckets * BUCKET_MS)
  }

  #advance(): void {
    const bucket = Math.floor(this.#monotonic() / BUCKET_MS)
    const steps = Math.min(bucket - this.#bucket, BUCKETS)
    for (let i = 1; i <= steps; i++) {
      const index = (this.#bucket + i) % BUCKETS
      this.#total -= this.#counts[index] ?? 0
      this.#counts[index] = 0
    }
    this.#bucket = bucket
  }
}
