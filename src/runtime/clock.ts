import { type Bounds, boundsOf, leastAt, mostAt, outside, type Reading } from './clock-bounds.ts'

/** The time that all of Belfry uses: the database's, in epoch milliseconds. */
export interface Clock {
  /** The best estimate. It may be ahead of the database by half a round trip. */
  now(): number
}

/** A clock for code that must not act before an instant. */
export interface HoldingClock extends Clock {
  /** A lower bound of the database's time. */
  atLeast(): number
  /** Announces that something will happen at this instant, so that the time is known precisely by then. */
  expect(instant: number): void
  /** Calls the listener whenever the database's clock turns out to have been set. */
  onStep(listener: (step: Step) => void): void
  /** The certainty of instants that were recorded with this clock. */
  assurance(): Assurance
}

/** Maximum delay of a timer, so that a change of the clock is noticed. */
const LONGEST_HOLD_MS = 1_000

/** An uncertainty below this is a round trip, which no reading removes. */
const SMALL_DOUBT_MS = 2

/**
 * How long to wait before checking again whether an instant has come; 0 once it has. If the clock was not read for a while, it
 * will be read shortly before the instant, which removes most of the uncertainty; if only that reading is missing, the check is
 * repeated often.
 */
export function holdMs(clock: HoldingClock, instant: number): number {
  const uncertainMs = instant - clock.atLeast()
  if (!(uncertainMs > 0)) return 0
  const leftMs = instant - clock.now()
  const isInDoubt = uncertainMs - leftMs > SMALL_DOUBT_MS
  const waitMs = !isInDoubt ? uncertainMs : leftMs > 0 ? leftMs : uncertainMs / 4
  return Math.min(LONGEST_HOLD_MS, Math.ceil(waitMs))
}

/** What the database needs to correct instants that a node recorded with a clock that had become wrong. */
export interface Assurance {
  /** A lower bound of the database's time, unless its clock was set after the last reading. */
  readonly now: number
  /** Instants up to this one are certain, because the clock was read after them. */
  readonly until: number
}

/** The database's clock was set. */
export interface Step {
  readonly byMs: number
  /** The clock had not been set before this instant, measured by the old clock. */
  readonly assuredUntil: number
}

/**
 * Maximum drift between two clocks that nobody sets: the error of a crystal, at most 200 ppm, and the 500 ppm by which the
 * kernel lets an NTP daemon slew one of them.
 */
const DRIFT = 0.001
/** The fastest slew that any daemon makes: the largest `maxslewrate` of chrony is 100 000 ppm. */
const FASTEST_SLEW = 0.1
/** How far a slew faster than `DRIFT` may get ahead before another reading is awaited: 30 ms of the fastest slew. */
const SLEW_TOLERANCE_MS = 3
/** How long that tolerance lasts after a reading, with a margin. */
export const READING_LASTS_MS = 28
/** Minimum step to report. A smaller one is followed too, but a slew can go as far between two readings of an idle node. */
export const CLOCK_STEP_MS = 50
/** Number of readings that the estimate uses; the best of them determine it. */
const READINGS_KEPT = 16

/**
 * Follows the database's clock as an offset from the monotonic one, so that a wall clock that is wrong or is set has no effect.
 * The offset is known as an interval. `atLeast` stays behind the database to within `SLEW_TOLERANCE_MS`, however an NTP daemon
 * slews its clock; a reading that no slew can explain means that the clock was set. ADR 0004 contains the bounds.
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

  /** Adds a reading, and returns the step of the clock that it reveals, if any. */
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
