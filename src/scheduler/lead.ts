/**
 * How long before their due instant rows are fired. The worker keeps a run until its instant has come, so the statement that
 * fires has that long to return. On a busy database statements take longer, and the lead grows with them.
 */

/** Bounds of the shortest lead. */
const LEAST_MS = 10
const MOST_MS = 40
/**
 * When the earliest row is as near as the shortest lead, all rows that are nearer than the lead plus this, or than twice the
 * lead, are fired. At a steady rate this makes batches instead of a statement per row, and rows that come due while the
 * statement is running still have their own lead when it returns.
 */
const GATHERED_MS = 20
/**
 * At a low rate more time is needed to gather a batch: at 100 runs a second this takes 10 statements instead of 26. It is
 * bounded because a fired run can no longer be paused or edited, and overlap is decided when a run is fired.
 */
const MOST_GATHERED_MS = 100
/** The number of rows that justifies a separate statement. */
const WORTHWHILE = 10
/** Half-life of the measured statement duration. */
const HALF_LIFE_MS = 10_000
/** Half-life of the count of fired rows. */
const RATE_HALF_LIFE_MS = 500

export class Lead {
  #slowestMs = 0
  #measuredAt = 0
  /** Rows fired recently, with exponential decay. */
  #fired = 0

  /** Records how long a statement took, and for how many rows. `now` is monotonic. */
  measure(ms: number, rows: number, now: number): void {
    this.#slowestMs = Math.max(ms, this.#remembered(now))
    this.#fired = this.#firedLately(now) + rows
    this.#measuredAt = now
  }

  /** Nothing is fired until the earliest row is as near as `least`; then all rows as near as `most` are fired. */
  at(now: number): { readonly least: number; readonly most: number } {
    const least = Math.min(MOST_MS, Math.max(LEAST_MS, this.#remembered(now)))
    return { least, most: least + Math.max(this.#gatheredMs(now), least) }
  }

  /** Returns how long it takes until enough rows come due. */
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
