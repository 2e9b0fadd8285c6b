/**
 * Detects values that have stopped changing. Time counts only while the watcher can observe: each pass adds at most
 * `longestStepMs`, so if nothing can be read for an hour, no process appears dead.
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

  /** Records a value in this pass. */
  see(key: string, value: string): void {
    const known = this.#seen.get(key)
    if (known?.value === value) known.pass = this.#pass
    else this.#seen.set(key, { value, quietMs: -1, pass: this.#pass })
  }

  /** Ends a pass in which every existing value was recorded; the others are removed. */
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

  /** How long a value has been unchanged. */
  quietMs(key: string): number {
    return Math.max(0, this.#seen.get(key)?.quietMs ?? 0)
  }
}
