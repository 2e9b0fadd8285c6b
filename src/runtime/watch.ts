/**
 * Notices what has stopped changing. Time counts only while the watcher can see: each pass adds at most
 * `longestStepMs`, so an hour during which nothing could be read makes nobody look dead.
 */
export class Watch {
  readonly #longestStepMs: number
  readonly #monotonic: () => number
  readonly #seen = new Map<string, { value: string; quietMs: number; pass: number }>()
  #lastPassAt: number | undefined
  #pass = 0

  constructor(longestStepMs: number, monotonic: () => number = () => performance.now()) {
    this.#longestStepMs = longestStepMs
    this.#monotonic = monotonic
  }

  /** Takes in what something looks like in this pass. */
  see(key: string, value: string): void {
    const known = this.#seen.get(key)
    if (known?.value === value) known.pass = this.#pass
    else this.#seen.set(key, { value, quietMs: -1, pass: this.#pass })
  }

  /** Ends a pass in which everything was seen; what was not seen is forgotten. */
  endPass(): void {
    const now = this.#monotonic()
    const step = this.#lastPassAt === undefined ? 0 : Math.min(now - this.#lastPassAt, this.#longestStepMs)
    this.#lastPassAt = now
    for (const [key, entry] of this.#seen) {
      if (entry.pass !== this.#pass) this.#seen.delete(key)
      else entry.quietMs = entry.quietMs < 0 ? 0 : entry.quietMs + step
    }
    this.#pass++
  }

  /** For how long something has looked the same. */
  quietMs(key: string): number {
    return Math.max(0, this.#seen.get(key)?.quietMs ?? 0)
  }
}
