import { type Bounds, boundsOf, leastAt, mostAt, outside, type Reading } from './clock-bounds.ts'

/** The time everything in Belfry is measured by: the database's, in epoch milliseconds. */
export interface Clock {
  /** The best estimate. It may be ahead of the database by half a round trip. */
  now(): number
}

/** A clock for whoever must not act before an instant has come. */
export interface HoldingClock extends Clock {
  /** The database's time is at least this. */
  atLeast(): number
  /** Somebody will act at this instant: the time should be known well by then. */
  expect(instant: number): void
  /** Calls whenever the database's clock turns out to have been set. */
  onStep(listener: (step: Step) => void): void
  /** What recorded instants rest on. */
  assurance(): Assurance
}

/** A timer is never set further ahead than this, so that a clock that was set is noticed. */
const LONGEST_HOLD_MS = 1_000

/** A doubt that is smaller than this is a round trip, and no reading makes it go away. */
const SMALL_DOUBT_MS = 2

/**
 * How long to wait before asking again whether an instant has come; 0 once it has. When the clock was not read for a while, it
 * will be shortly before the instant, which takes most of the doubt away; when only that reading is missing, it is asked often.
 */
export function holdMs(clock: HoldingClock, instant: number): number {
  const uncertainMs = instant - clock.atLeast()
  if (!(uncertainMs > 0)) return 0
  const leftMs = instant - clock.now()
  const isInDoubt = uncertainMs - leftMs > SMALL_DOUBT_MS
  const waitMs = !isInDoubt ? uncertainMs : leftMs > 0 ? leftMs : uncertainMs / 4
  return Math.min(LONGEST_HOLD_MS, Math.ceil(waitMs))
}

/** What the database needs to know to correct instants that this node took from a clock that was no longer right. */
export interface Assurance {
  /** The database's time is at least this, unless its clock was set since it was last read. */
  readonly now: number
  /** Instants up to this one are certain: the clock was read after them. */
  readonly until: number
}

/** The database's clock was set. */
export interface Step {
  readonly byMs: number
  /** Up to this instant, as the clock was before, it had not been set. */
  readonly assuredUntil: number
}

/**
 * The rate at which two clocks part that nobody sets: the error of a crystal, at most 200 ppm, and the 500 ppm by which
 * the kernel lets an NTP daemon slew one of them.
 */
const DRIFT = 0.001
/** The fastest slew that any daemon makes: the largest `maxslewrate` of chrony is 100 000 ppm. */
const FASTEST_SLEW = 0.1
/** What a slew faster than `DRIFT` may gain on us before we wait for another reading: 30 ms at the fastest slew. */
const SLEW_TOLERANCE_MS = 3
/** For so long after a reading that tolerance lasts, with some time to spare. */
export const READING_LASTS_MS = 28
/** A smaller step is followed like any other but raises no alarm: between two readings of an idle node a slew goes as far. */
export const CLOCK_STEP_MS = 50
/** How many readings the estimate rests on; the best of them decide. */
const READINGS_KEPT = 16

/**
 * Follows the database's clock as an offset on the monotonic one, so that a wall clock that is wrong or set while we run
 * has no effect. The offset is known as an interval. `atLeast` stays behind the database whatever an NTP daemon does to its
 * clock, to within `SLEW_TOLERANCE_MS`; a reading that no slew explains means that the clock was set. ADR 0004 has the bounds.
 */
export class DatabaseClock implements HoldingClock {
  readonly #monotonic: () => number
  #readings: readonly Reading[] = []
  #drifting: Bounds = boundsOf([], DRIFT)
  #slewing: Bounds = boundsOf([], FASTEST_SLEW)
  readonly #onStep: ((step: Step) => void)[] = []
  #onExpected: ((instant: number) => void) | undefined

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic
  }

  get isSet(): boolean {
    return this.#readings.length > 0
  }

  now(): number {
    return this.#at(this.#monotonic())
  }

  atLeast(): number {
    const monotonic = this.#monotonic()
    const slewed = leastAt(this.#slewing, monotonic) + SLEW_TOLERANCE_MS
    return monotonic + Math.min(leastAt(this.#drifting, monotonic), slewed)
  }

  assurance(): Assurance {
    const monotonic = this.#monotonic()
    return { now: monotonic + leastAt(this.#drifting, monotonic), until: this.#assuredUntil }
  }

  expect(instant: number): void {
    this.#onExpected?.(instant)
  }

  onExpected(listener: (instant: number) => void): void {
    this.#onExpected = listener
  }

  onStep(listener: (step: Step) => void): void {
    this.#onStep.push(listener)
  }

  /** Takes in one reading; answers the step that it shows, if it shows one. */
  observe(reading: Reading): Step | undefined {
    const step = this.#stepShownBy(reading)
    const agreeing = this.#readings.filter((one) => outside(boundsOf([one], DRIFT), reading) === 0)
    this.#readings = [...agreeing.slice(1 - READINGS_KEPT), reading]
    this.#drifting = boundsOf(this.#readings, DRIFT)
    this.#slewing = boundsOf(this.#readings, FASTEST_SLEW)
    if (step) for (const listener of this.#onStep) listener(step)
    return step
  }

  #stepShownBy(reading: Reading): Step | undefined {
    if (outside(this.#slewing, reading) === 0) return undefined
    const middle = (reading.sentAt + reading.receivedAt) / 2
    const byMs = reading.at - this.#at(middle)
    return Math.abs(byMs) < CLOCK_STEP_MS ? undefined : { byMs, assuredUntil: this.#assuredUntil }
  }

  #at(monotonic: number): number {
    return monotonic + (leastAt(this.#drifting, monotonic) + mostAt(this.#drifting, monotonic)) / 2
  }

  get #assuredUntil(): number {
    const latest = this.#readings.at(-1)
    return latest ? this.#at(latest.sentAt) : Number.NEGATIVE_INFINITY
  }
}
