/**
 * Calls of a line that nobody answers. Such a call is over only when its timeout is, which may be in twenty minutes; until then it says
 * nothing about how many calls the target copes with by now. So when every call of a full line has been silent for long, one more
 * finds out. If it is answered, those before it hang, and do not count against the limit any more.
 *
 * Calls are told apart by when they began, so nothing has to be kept for each of them.
 */

/** Silence that is long for any target, and the longest between two calls that find out; between them it doubles. */
export const LEAST_SILENCE_MS = 30_000
const MOST_SILENCE_MS = 300_000
const MAX_DOUBLINGS = 4
/** When a call began is computed from its duration, which is rounded and taken on another clock. */
const ROUNDING_MS = 1_000

export class HungCalls {
  #lastBegunAt = Number.NEGATIVE_INFINITY
  /** Calls under way that began before this instant hang, or may hang. */
  #before = Number.NEGATIVE_INFINITY
  #count = 0
  #areKnown = false
  #tries = 0

  /** Those known to hang. */
  get count(): number {
    return this.#areKnown ? this.#count : 0
  }

  /** When one more call may find out, where answers usually take up to `usualMs`. */
  triesAt(usualMs: number): number {
    const silenceMs = Math.max(LEAST_SILENCE_MS, usualMs) * 2 ** this.#tries
    return this.#lastBegunAt + Math.min(MOST_SILENCE_MS, silenceMs)
  }

  /** Whether that may be now; decides most cases, for little. */
  mayTry(now: number): boolean {
    return now - this.#lastBegunAt >= LEAST_SILENCE_MS
  }

  /** A call begins; `silent` are those under way, if it is to find out. */
  begin(now: number, silent: number): void {
    if (silent > 0) {
      this.#before = this.#lastBegunAt + ROUNDING_MS
      this.#count = silent
      this.#areKnown = false
      this.#tries = Math.min(MAX_DOUBLINGS, this.#tries + 1)
    }
    this.#lastBegunAt = now
  }

  /** A call was answered. True when that shows that those before it hang. */
  answered(startedAt: number): boolean {
    if (this.#areKnown || this.#count === 0 || startedAt < this.#before) return false
    this.#areKnown = true
    this.#tries = 0
    return true
  }

  /** A call ended, however, and so many are left. */
  ended(startedAt: number, left: number): void {
    if (this.#count === 0) return
    if (startedAt < this.#before) this.#count--
    this.#count = Math.min(this.#count, left)
    if (this.#count === 0) this.forget()
  }

  /** The target was found to answer again: so many calls from before hang. */
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
