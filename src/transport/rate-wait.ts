/**
 * When to look again for runs that a rate does not allow to start yet. This is not announced, so each worker that looked sets a
 * timer. If many keys have rates, one of them opens all the time, so the share of time spent looking is limited.
 */

/** Minimum time between looks for runs that a rate allows. */
const LEAST_PAUSE_MS = 5
/** After a look, the pause is at least this many times as long as the look took. */
const PAUSE_PER_LOOK = 4

export class RateWait {
  /** On the monotonic clock. */
  #opensAt: number | undefined

  /** Discards the results of earlier looks. */
  clear(): void {
    this.#opensAt = undefined
  }

  /** Records a look that took `tookMs`; `opensInMs` is when a rate allows more, null if no run waits for a rate. */
  note(opensInMs: number | null, tookMs: number): void {
    if (opensInMs === null) return
    const at = performance.now() + Math.max(opensInMs, LEAST_PAUSE_MS, PAUSE_PER_LOOK * tookMs)
    this.#opensAt = Math.min(at, this.#opensAt ?? at)
  }

  /** Returns when to look again, taking another reason into account. */
  orSooner(otherInMs: number | undefined): number | undefined {
    if (this.#opensAt === undefined) return otherInMs
    const inMs = Math.max(0, Math.ceil(this.#opensAt - performance.now()))
    return Math.min(inMs, otherInMs ?? inMs)
  }
}
