/**
 * Starts a second, with a burst. What is kept is one instant: when the next start would be due if they were spread evenly. A start
 * may come before that by as much as the burst allows. So nothing has to be refilled, and nothing drifts.
 */
import { DEFAULT_BURST_MS } from '../../core/values/rate.ts'

/** A timer fires a little late. A start that is late by no more than this does not delay the next, so that the rate is reached. */
const TIMER_SLACK_MS = 20
/** Sums of fractions are not exact. */
const ROUNDING_MS = 1e-6

export class TokenBucket {
  /** Of all nodes together. */
  #gapMs = 0
  #burst = 1
  readonly #nodes: () => number
  #nextAt = Number.NEGATIVE_INFINITY

  constructor(nodes: () => number, gapMs: number, burst: number | null) {
    this.#nodes = nodes
    this.set(gapMs, burst)
  }

  /** Sets the rate of all nodes together. What was spent stays spent. */
  set(gapMs: number, burst: number | null): void {
    this.#gapMs = gapMs
    this.#burst = burst ?? DEFAULT_BURST_MS / gapMs
  }

  /** How many may start now. */
  free(now: number): number {
    const gap = this.#shareMs()
    const earlyMs = Math.max(0, this.#nextAt - now)
    return Math.max(0, Math.floor((this.#earlyMs(gap) - earlyMs + ROUNDING_MS) / gap + 1))
  }

  /** Counts a start, also one that had to come before its turn. */
  take(now: number): void {
    const gap = this.#shareMs()
    const isDue = this.#nextAt >= now - Math.min(TIMER_SLACK_MS, gap)
    this.#nextAt = (isDue ? this.#nextAt : now) + gap
  }

  /** When the next one may start. */
  opensAt(now: number): number {
    return Math.max(now, this.#nextAt - this.#earlyMs(this.#shareMs()))
  }

  /** Whether it is as if nothing had ever started. */
  isFull(now: number): boolean {
    return this.#nextAt <= now
  }

  /** Each node has its share of the rate. */
  #shareMs(): number {
    return this.#gapMs * Math.max(1, this.#nodes())
  }

  /** Each node has its share of the burst too, and each at least one. */
  #earlyMs(gap: number): number {
    return (Math.max(1, Math.floor(this.#burst / Math.max(1, this.#nodes()))) - 1) * gap
  }
}
