/**
 * Limits the number of calls in progress to one target. The limit shrinks by a fraction when calls get no answer, and grows
 * back by a few per round trip while it is used. Slow answers shrink it only if they are slow for this target and many calls
 * are in progress: a target that is always slow is healthy.
 *
 * Round trips are distinguished by when calls began: a call that began before the limit shrank says nothing about the smaller
 * limit, so it does not shrink it again.
 */
import { DEFAULT_CALL_LIMIT } from '../../core/target/target-state.ts'

/** Factors applied to the limit after a failure, and after answers became slow. */
const AFTER_FAILURE = 0.7
const AFTER_SLOWNESS = 0.9
/**
 * Slowness alone does not shrink the limit below this: failures show what a target cannot handle, slowness is only an
 * indication.
 */
const SLOWNESS_FLOOR = 16
const GROWTH_PER_ROUND_TRIP = 4
/** The limit when a circuit has just closed. */
const RAMP_FROM = 4
/** After this long without a failure every answer raises the limit, even if the limit is not fully used. */
const QUIET_MS = 60_000

/** Number of answers of which the fastest is compared with the baseline. */
const WINDOW = 32
const MANY_UNDER_WAY = 16
/** An answer is slow if it takes more than twice the baseline and exceeds it by more than this. */
const SLOW_FACTOR = 2
const SLOW_BY_MS = 10
/** The baseline adapts to answers that stay slow within about this time. */
const BASELINE_MS = 60_000

export type ShrunkBy = 'failures' | 'latency' | 'ramping'

export class AdaptiveLimit {
  #max = DEFAULT_CALL_LIMIT
  #value = DEFAULT_CALL_LIMIT
  /** Below it every answer raises the limit by one, so that it doubles with each round trip. */
  #rampTo = 0
  #shrunkBy: ShrunkBy | null = null
  #shrunkAt = Number.NEGATIVE_INFINITY
  #shrunkSince = 0
  /**
   * Baseline duration. The fastest answer of a window measures mostly how long a call had to wait at the target, not the work
   * itself.
   */
  #baselineMs = -1
  #baselineAt = 0
  #fastestMs = Number.POSITIVE_INFINITY
  #inWindow = 0

  /** Maximum number of calls in progress. */
  get value(): number {
    return Math.floor(this.#value)
  }

  get max(): number {
    return this.#max
  }

  /** Why the limit is below its maximum; null if it is not. */
  get shrunkBy(): ShrunkBy | null {
    return this.#shrunkBy
  }

  /** Since when the limit is below its maximum. */
  get shrunkSince(): number {
    return this.#shrunkSince
  }

  setMax(max: number): void {
    if (this.#shrunkBy === null || this.#value >= max) {
      this.#value = max
      this.#shrunkBy = null
    }
    this.#max = max
  }

  /** Records an answer; `underWay` includes its call. */
  answered(durationMs: number, underWay: number, now: number): void {
    if (durationMs < this.#fastestMs) this.#fastestMs = durationMs
    if (++this.#inWindow >= WINDOW) this.#compare(underWay, now)
    if (this.#shrunkBy !== null) this.#grow(underWay, now)
  }

  /** Records that a call that began at `startedAt` found the target unreachable, overloaded or silent. */
  failed(startedAt: number, now: number): void {
    if (startedAt < this.#shrunkAt) return
    this.#shrink('failures', Math.max(1, this.#value * AFTER_FAILURE), now)
  }

  /** Starts with a small limit: the target was not called for a while and may handle less than before. */
  ramp(now: number): void {
    this.#shrink('ramping', Math.min(RAMP_FROM, this.#max), now)
    this.#rampTo = this.#max / 2
  }

  #shrink(by: ShrunkBy, value: number, now: number): void {
    if (this.#shrunkBy === null) this.#shrunkSince = now
    this.#value = Math.min(this.#value, value)
    this.#shrunkAt = now
    this.#shrunkBy = this.#value < this.#max ? by : null
    this.#rampTo = 0
    this.#forgetWindow()
  }

  #grow(underWay: number, now: number): void {
    const isUsed = underWay * 2 >= this.#value
    if (!isUsed && now - this.#shrunkAt < QUIET_MS) return
    const isRamping = this.#value < this.#rampTo || !isUsed
    this.#value = Math.min(this.#max, this.#value + (isRamping ? 1 : GROWTH_PER_ROUND_TRIP / this.#value))
    if (this.#value === this.#max) this.#shrunkBy = null
  }

  /** Compares the fastest of the last answers with the baseline. */
  #compare(underWay: number, now: number): void {
    const fastest = this.#fastestMs
    this.#forgetWindow()
    const isSlow = this.#baselineMs >= 0 && fastest > this.#baselineMs * SLOW_FACTOR + SLOW_BY_MS
    this.#follow(fastest, now)
    const isBusy = underWay >= MANY_UNDER_WAY && underWay * 2 >= this.#value
    if (isSlow && isBusy && now - fastest >= this.#shrunkAt && this.#value > SLOWNESS_FLOOR)
      this.#shrink('latency', Math.max(SLOWNESS_FLOOR, this.#value * AFTER_SLOWNESS), now)
  }

  /** Updates the baseline: it falls at once and rises slowly. */
  #follow(fastest: number, now: number): void {
    const weight = fastest < this.#baselineMs ? 0.5 : Math.min(1, (now - this.#baselineAt) / BASELINE_MS)
    this.#baselineMs =
      this.#baselineMs < 0 ? fastest : this.#baselineMs + (fastest - this.#baselineMs) * weight
    this.#baselineAt = now
  }

  #forgetWindow(): void {
    this.#fastestMs = Number.POSITIVE_INFINITY
    this.#inWindow = 0
  }
}
