/**
 * Detects calls of a line that get no answer. Such a call ends only at its timeout, perhaps in twenty minutes; until then it
 * says nothing about how many calls the target can handle now. So if every call of a full line has been silent for a long time,
 * one more call is allowed as a test. If it is answered, the calls before it hang and no longer count against the limit.
 *
 * Calls are distinguished by when they began, so nothing has to be stored for each call.
 */

/** The shortest silence that counts as long, and the longest between two tests; the time doubles in between. */
export const LEAST_SILENCE_MS = 30_000
const MOST_SILENCE_MS = 300_000
const MAX_DOUBLINGS = 4
/** The start of a call is computed from its duration, which is rounded and measured on another clock. */
const ROUNDING_MS = 1_000

export class HungCalls {
  #lastBegunAt = Number.NEGATIVE_INFINITY
  /** Calls under way that began before this instant hang, or may hang. */
  #before = Number.NEGATIVE_INFINITY
  #count = 0
  #areKnown = false
  #tries = 0

  /** Number of calls known to hang. */
  get count(): number {
    return this.#areKnown ? this.#count : 0
  }

  /** Returns when a test call is allowed if answers usually take up to `usualMs`. */
  triesAt(usualMs: number): number {
    const silenceMs = Math.max(LEAST_SILENCE_MS, usualMs) * 2 ** this.#tries
    return this.#lastBegunAt + Math.min(MOST_SILENCE_MS, silenceMs)
  }

  /** Whether a test call can be allowed now; a cheap check that decides most cases. */
  mayTry(now: number): boolean {
    return now - this.#lastBegunAt >= LEAST_SILENCE_MS
  }

  /** Records that a call begins; `silent` is the number of calls in progress if it is a test, otherwise 0. */
  begin(now: number, silent: number): void {
    if (silent > 0) {
      this.#before = this.#lastBegunAt + ROUNDING_MS
      this.#count = silent
      this.#areKnown = false
      this.#tries = Math.min(MAX_DOUBLINGS, this.#tries + 1)
    }
    this.#lastBegunAt = now
  }

  /** Records that a call was answered; returns true if that shows that earlier calls hang. */
  answered(startedAt: number): boolean {
    if (this.#areKnown || this.#count === 0 || startedAt < this.#before) return false
    this.#areKnown = true
    this.#tries = 0
    return true
  }

  /** Records that a call ended with any result; `left` is the number still in progress. */
  ended(startedAt: number, left: number): void {
    if (this.#count === 0) return
    if (startedAt < this.#before) this.#count--
    this.#count = Math.min(this.#count, left)
    if (this.#count === 0) this.forget()
  }

  /** Records that the target answers again and that `count` earlier calls hang. */
  know(count: number, now: number): void {
    this.#before = now - ROUNDING_MS
    this.#count = count
    this.#areKnown = count > 0
    this.#tries = 0
  }

  forget(): void {
    this.know(0, Number.NEGATIVE_INFINITY)
  }
}
