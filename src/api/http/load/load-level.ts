/**
 * How much is refused, by how long the database keeps a simple question waiting. A level is entered when the delay has
 * been above its bound for a while, so that one slow moment refuses nothing; it is left step by step, and later each time
 * it was left too early. So a database that is slow because of the requests does not swing between the two.
 */
import type { Importance } from './importance.ts'

/** Refused from each level on; the bound of a level is so many times the first. */
const LEVELS = [
  { refused: 'browse', times: 1 },
  { refused: 'read', times: 3 },
  { refused: 'change', times: 6 },
] as const satisfies readonly { refused: Importance; times: number }[]

/** The delay must be above the bound for so long. */
export const SUSTAINED_MS = 2_000
/** And below half of it for so long, at first. */
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

  /** 0 refuses nothing; each further one refuses one kind more. */
  get level(): number {
    return this.#level
  }

  /** What is refused, the least important first. */
  get refused(): readonly Importance[] {
    return LEVELS.slice(0, this.#level).map(({ refused }) => refused)
  }

  /** Takes in how long the database has kept a question waiting so far. */
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
