/** Shown again for at least this long, and for twenty times as long as it took to make. */
const SHOWN_AGAIN_MS = 1_000
const SHOWN_PER_MS = 20
const LONGEST_SHOWN_MS = 30_000

/**
 * Something that is the same for everybody who asks: it is made once and shown to all who ask within a moment. The
 * longer it took to make, the longer it is shown, so that however many look they cost a bounded share of the database.
 */
export class MadeForAll<T> {
  readonly #make: () => Promise<T>
  #made: Promise<T> | undefined
  #validUntil = 0

  constructor(make: () => Promise<T>) {
    this.#make = make
  }

  get(): Promise<T> {
    if (this.#made && performance.now() < this.#validUntil) return this.#made
    const startedAt = performance.now()
    this.#validUntil = Number.POSITIVE_INFINITY
    this.#made = this.#make()
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
