/**
 * How long before their instant rows are fired. The worker holds what it was given until the instant has come, so the
 * statement that fires has that long to come back; on a busy database it takes longer, and the lead grows with it.
 */

/** Between these is the shortest lead. */
const LEAST_MS = 10
const MOST_MS = 40
/**
 * Whenever the earliest row is as near as the shortest lead, everything goes that is nearer than so much more, or than twice the
 * lead: at a steady rate that makes batches of what would else be a statement for each, and what comes due while the statement
 * is under way has a lead of its own left when it is back.
 */
const GATHERED_MS = 20
/**
 * At a low rate more time is needed to gather anything: at 100 runs a second this makes 10 statements of 26. It is bounded,
 * because what is fired can no longer be paused or edited, and what overlaps is decided when it is fired.
 */
const MOST_GATHERED_MS = 100
/** The number of rows that justifies a statement of its own. */
const WORTHWHILE = 10
/** What a slow statement has taught is half forgotten after this. */
const HALF_LIFE_MS = 10_000
/** And half of what was fired after this. */
const RATE_HALF_LIFE_MS = 500

export class Lead {
  #slowestMs = 0
  #measuredAt = 0
  /** Rows fired lately: the earlier, the less they count. */
  #fired = 0

  /** Records how long a statement took, and for how many rows. `now` is monotonic. */
  measure(ms: number, rows: number, now: number): void {
    this.#slowestMs = Math.max(ms, this.#remembered(now))
    this.#fired = this.#firedLately(now) + rows
    this.#measuredAt = now
  }

  /** So near the earliest row must be before anything is fired, and then everything goes that is as near as `most`. */
  at(now: number): { readonly least: number; readonly most: number } {
    const least = Math.min(MOST_MS, Math.max(LEAST_MS, this.#remembered(now)))
    return { least, most: least + Math.max(this.#gatheredMs(now), least) }
  }

  /** How long it takes until enough comes due. */
  #gatheredMs(now: number): number {
    const perMs = (this.#firedLately(now) * Math.LN2) / RATE_HALF_LIFE_MS
    return Math.min(MOST_GATHERED_MS, Math.max(GATHERED_MS, WORTHWHILE / perMs))
  }

  #remembered(now: number): number {
    return this.#slowestMs * 0.5 ** ((now - this.#measuredAt) / HALF_LIFE_MS)
  }

  #firedLately(now: number): number {
    return this.#fired * 0.5 ** ((now - this.#measuredAt) / RATE_HALF_LIFE_MS)
  }
}
