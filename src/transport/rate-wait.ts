/**
 * When to look again for runs that a rate does not allow to start yet. Nobody announces that: each who looked sets a timer. Where many
 * keys have rates one of them opens all the time, so looking takes a part of the time only.
 */

/** Looks for what a rate allows are at least this far apart. */
const LEAST_PAUSE_MS = 5
/** A look that took long is followed by a pause so many times as long. */
const PAUSE_PER_LOOK = 4

export class RateWait {
  /** On the monotonic clock. */
  #opensAt: number | undefined

  /** Forgets what the looks before have found. */
  clear(): void {
    this.#opensAt = undefined
  }

  /** A look has taken `tookMs`; if something waits for a rate, that allows more in `opensInMs`. */
  note(opensInMs: number | null, tookMs: number): void {
    if (opensInMs === null) return
    const at = performance.now() + Math.max(opensInMs, LEAST_PAUSE_MS, PAUSE_PER_LOOK * tookMs)
    this.#opensAt = Math.min(at, this.#opensAt ?? at)
  }

  /** When to look again, also for another reason. */
  orSooner(otherInMs: number | undefined): number | undefined {
    if (this.#opensAt === undefined) return otherInMs
    const inMs = Math.max(0, Math.ceil(this.#opensAt - performance.now()))
    return Math.min(inMs, otherInMs ?? inMs)
  }
}
