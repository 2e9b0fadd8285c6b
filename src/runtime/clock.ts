/** The time everything in Belfry is measured by: the database's, in epoch milliseconds. */
export interface Clock {
  now(): number
}

/** How many samples the estimate rests on; the best of them decides. */
const SAMPLES_KEPT = 16

/** How often a node asks before it begins: the quickest answer is the best. */
export const ROUND_TRIPS_AT_START = 5

/** A difference beyond this is not drift: somebody set the clock. */
export const CLOCK_STEP_MS = 1_000

/** What a new sample told. A step is the amount by which the database's clock jumped. */
export type Sample = { readonly kind: 'steady' } | { readonly kind: 'step'; readonly byMs: number }

/**
 * Follows the database's clock as an offset on the monotonic one, so that a wall clock that is wrong or
 * set while we run has no effect. The estimate is a lower bound: an answer read at `receivedAt` was
 * written before that, so the database's time was at least what it says. A node can therefore be late by
 * a round trip and never early.
 */
export class DatabaseClock implements Clock {
  readonly #monotonic: () => number
  #offsets: number[] = []
  #offset = Number.NaN

  constructor(monotonic: () => number = () => performance.now()) {
    this.#monotonic = monotonic
  }

  now(): number {
    return this.#monotonic() + this.#offset
  }

  get isSet(): boolean {
    return !Number.isNaN(this.#offset)
  }

  /** Takes in one reading: the database said `databaseMs`, and the answer arrived just now. */
  observe(databaseMs: number, receivedAt: number = this.#monotonic()): Sample {
    const offset = databaseMs - receivedAt
    const byMs = this.isSet ? offset - this.#offset : 0
    // A reading behind the estimate may only have travelled slowly; ahead of it, it cannot be wrong.
    const isStep = byMs > CLOCK_STEP_MS || byMs < -CLOCK_STEP_MS
    this.#offsets = isStep ? [offset] : [...this.#offsets.slice(1 - SAMPLES_KEPT), offset]
    this.#offset = Math.max(...this.#offsets)
    return isStep ? { kind: 'step', byMs } : { kind: 'steady' }
  }
}
