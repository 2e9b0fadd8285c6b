/**
 * Decides what to reject from the delay of a trivial database query. A level is entered when the delay has exceeded its bound
 * for a while, so that one slow moment rejects nothing. Levels are left one by one, and later each time a level was left too
 * early, so a database that is slow because of the requests does not oscillate between rejecting and admitting them.
 */
import type { Importance } from './importance.ts'

/** What is additionally rejected from each level on; the bound of a level is `times` the first bound. */
const LEVELS = [
  { refused: 'browse', times: 1 },
  { refused: 'read', times: 3 },
  { refused: 'change', times: 6 },
] as const satisfies readonly { refused: Importance; times: number }[]

/** How long the delay must exceed the bound before a level is entered. */
export const SUSTAINED_MS = 2_000
/** How long the delay must be below half the bound before a level is left; the initial value. */
export const CALM_MS = 1_000
/** A level that is entered again within this time was left too early. */
const TOO_EARLY_MS = 30_000
const LONGEST_CALM_MS = 16_000

export class LoadLevel {
  readonly #slowMs: number
  /** Since when the delay has been above the bound of each level. */
  readonly #slowSince: (number | null)[] = LEVELS.map(() => null)
  #level = 0
  #calmSince: number | null = null
  #calmMs = CALM_MS
  #leftAt = Number.NEGATIVE_INFINITY

  constructor(slowMs: number) {
    this.#slowMs = slowMs
  }

  /** 0 rejects nothing; each further level rejects one kind more. */
  get level(): number {
    return this.#level
  }

  /** The kinds that are rejected, the least important first. */
  get refused(): readonly Importance[] {
    return LEVELS.slice(0, this.#level).map(({ refused }) => refused)
  }

  /** Notes how long a query has waited for the database so far. */
  observe(delayMs: number, now: number): void {
    for (const [i, { times }] of LEVELS.entries())
      this.#slowSince[i] = delayMs > this.#slowMs * times ? (this.#slowSince[i] ?? now) : null
    const next = this.#slowSince[this.#level]
    if (next != null && now - next >= SUSTAINED_MS) {
      this.#raise(now)
      return
    }
    const bound = this.#slowMs * (LEVELS[this.#level - 1]?.times ?? 0)
    this.#calmSince = delayMs < bound / 2 ? (this.#calmSince ?? now) : null
    if (this.#calmSince !== null && now - this.#calmSince >= this.#calmMs) this.#lower(now)
  }

  #raise(now: number): void {
    const isTooEarly = now - this.#leftAt < TOO_EARLY_MS
    this.#calmMs = isTooEarly ? Math.min(LONGEST_CALM_MS, this.#calmMs * 2) : CALM_MS
    this.#leftAt = Number.NEGATIVE_INFINITY
    this.#calmSince = null
    this.#level++
  }

  #lower(now: number): void {
    this.#level--
    this.#leftAt = now
    this.#calmSince = now
  }
}
