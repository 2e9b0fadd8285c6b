/** Keeps outcomes that PostgreSQL refuses even without their output, until it accepts them. */
import { UNSTORABLE_OUTCOME } from '../core/run/attempt-errors.ts'
import type { Ending } from '../store/agenda/outcomes.ts'
import type { Retry } from '../store/agenda/retries.ts'

/** At most this many are kept with their output; the others without. A worker takes on nothing while too many wait. */
const MAX_WHOLE = 100

/** Returns the outcome without its output, with an error that gives the reason. */
export const withoutOutput = <T extends Ending | Retry>(outcome: T, reason: unknown): T => ({
  ...outcome,
  output: null,
  error: { code: UNSTORABLE_OUTCOME, message: reason instanceof Error ? reason.message : String(reason) },
})

const NOT_KEPT = new Error('The output could not be stored.')

/** An outcome, and whether it ends or retries its run. */
type Kept =
  | { readonly kind: 'end'; readonly outcome: Ending }
  | { readonly kind: 'retry'; readonly outcome: Retry }

export class KeptOutcomes {
  readonly #restMs: (outcome: Ending | Retry) => number
  readonly #byRun = new Map<string, Kept>()

  /** `restMs`: how long an outcome waits until it is tried again. */
  constructor(restMs: (outcome: Ending | Retry) => number) {
    this.#restMs = restMs
  }

  get size(): number {
    return this.#byRun.size
  }

  get runIds(): readonly string[] {
    return [...this.#byRun.keys()]
  }

  has(runId: string): boolean {
    return this.#byRun.has(runId)
  }

  /** When the first of them may be tried again; undefined if there are none. */
  get nextInMs(): number | undefined {
    let next: number | undefined
    for (const { outcome } of this.#byRun.values())
      next = Math.min(next ?? Number.POSITIVE_INFINITY, this.#restMs(outcome))
    return next
  }

  addEndings(refused: readonly Ending[]): void {
    for (const ending of refused)
      this.#byRun.set(ending.runId, { kind: 'end', outcome: this.#bounded(ending) })
  }

  addRetries(refused: readonly Retry[]): void {
    for (const retry of refused)
      this.#byRun.set(retry.runId, { kind: 'retry', outcome: this.#bounded(retry) })
  }

  #bounded<T extends Ending | Retry>(outcome: T): T {
    return this.size < MAX_WHOLE || outcome.output === null ? outcome : withoutOutput(outcome, NOT_KEPT)
  }

  /** Removes and returns the outcomes that may be tried again, or all. */
  take(isAll: boolean): { endings: Ending[]; retries: Retry[] } {
    const taken: { endings: Ending[]; retries: Retry[] } = { endings: [], retries: [] }
    for (const [runId, kept] of this.#byRun) {
      if (!isAll && this.#restMs(kept.outcome) > 0) continue
      this.#byRun.delete(runId)
      if (kept.kind === 'end') taken.endings.push(kept.outcome)
      else taken.retries.push(kept.outcome)
    }
    return taken
  }
}
