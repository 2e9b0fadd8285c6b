/**
 * Limits starts per second, with a burst. The only state is one instant: when the next start would be due if starts were spread
 * evenly. A start may come before that by as much as the burst allows. So nothing has to be refilled, and nothing drifts.
 */
import { DEFAULT_BURST_MS } from '../../core/values/rate.ts'

/** A timer fires a little late. A start that is late by no more than this does not delay the next, so that the rate is reached. */
const TIMER_SLACK_MS = 20
/** Tolerance for rounding errors in sums of fractions. */
const ROUNDING_MS = 1e-6

export class TokenBucket {
  /** Interval between starts of all nodes together. */
  #gapMs = 0
  #burst = 1
  readonly #nodes: () => number
  #nextAt = Number.NEGATIVE_INFINITY

  constructor(nodes: () => number, gapMs: number, burst: number | null) {
    this.#nodes = nodes
    this.set(gapMs, burst)
  }

  /** Sets the rate of all nodes together. Tokens already spent stay spent. */
  set(gapMs: number, burst: number | null): void {
    this.#gapMs = gapMs
    this.#burst = burst ?? DEFAULT_BURST_MS / gapMs
  }

  /** Returns how many starts are allowed now. */
  free(now: number): number {
    const gap = this.#shareMs()
    const earlyMs = Math.max(0, this.#nextAt - now)
    return Math.max(0, Math.floor((this.#earlyMs(gap) - earlyMs + ROUNDING_MS) / gap + 1))
  }

  /** Counts a start, including one that came before its turn. */
  take(now: number): void {
    const gap = this.#shareMs()
    const isDue = this.#nextAt >= now - Math.min(TIMER_SLACK_MS, gap)
    this.#nextAt = (isDue ? this.#nextAt : now) + gap
  }

  /** Returns when the next start is allowed. */
  opensAt(now: number): number {
    return Math.max(now, this.#nextAt - this.#earlyMs(this.#shareMs()))
  }

  /** Whether the bucket is in its initial state. */
  isFull(now: number): boolean {
    return this.#nextAt <= now
  }

  /** Interval of this node's share of the rate. */
  #shareMs(): number {
    return this.#gapMs * Math.max(1, this.#nodes())
  }

  /** This node's share of the burst, at least one start, as a time. */
  #earlyMs(gap: number): number {
    return (Math.max(1, Math.floor(this.#burst / Math.max(1, this.#nodes()))) - 1) * gap
  }
}
