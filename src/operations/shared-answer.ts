/** How long an answer is shared: twenty times as long as it took to compute, at least `SHOWN_AGAIN_MS`. */
const SHOWN_AGAIN_MS = 1_000
const SHOWN_PER_MS = 20
const LONGEST_SHOWN_MS = 30_000

/**
 * An answer that is the same for all callers: it is computed once and shared by all callers within a short time. The longer it
 * took to compute, the longer it is kept, so any number of readers cost a bounded share of the database.
 */
class SharedAnswer<T> {
  #made: Promise<T> | undefined
  #validUntil = 0

  /** `make` may use the caller's context: it is called at most once for all callers that share the answer. */
  get(make: () => Promise<T>): Promise<T> {
    if (this.#made && performance.now() < this.#validUntil) return this.#made
    const startedAt = performance.now()
    this.#validUntil = Number.POSITIVE_INFINITY
    this.#made = make()
    this.#made.then(
      () => {
        const tookMs = performance.now() - startedAt
        const shownMs = Math.min(LONGEST_SHOWN_MS, Math.max(SHOWN_AGAIN_MS, tookMs * SHOWN_PER_MS))
        this.#validUntil = performance.now() + shownMs
      },
      () => {
        this.#validUntil = 0
      },
    )
    return this.#made
  }
}

/** One such answer for each key, such as each project. */
export class SharedAnswers<T> {
  readonly #byKey = new Map<string, SharedAnswer<T>>()

  get(key: string, make: () => Promise<T>): Promise<T> {
    let shared = this.#byKey.get(key)
    if (!shared) {
      shared = new SharedAnswer()
      this.#byKey.set(key, shared)
    }
    return shared.get(make)
  }
}
