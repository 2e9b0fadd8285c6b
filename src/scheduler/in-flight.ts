import type { DueRow } from '../store/agenda/look-ahead.ts'

/** The part of a row that distinguishes one state of a run from a later one: every change of a run raises its fence. */
type Seen = Pick<DueRow, 'runId' | 'taskId' | 'fence'>

/**
 * Rows that are being fired or reserved for firing. Reading and firing such a row again would be useless, but only in the same
 * state: a run that was started and has failed meanwhile appears again with a higher fence.
 */
export class InFlight {
  /** The fence each run is being fired with. */
  readonly #runs = new Map<string, number>()
  /** How many rows of each task are being fired. */
  readonly #tasks = new Map<string, number>()
  /** Runs fired since the current read began. The read may have seen them in their earlier state. */
  #firedMeanwhile: Map<string, number> | undefined

  /** Every run that is being fired, or kept for it. */
  get runIds(): Iterable<string> {
    return this.#runs.keys()
  }

  /** Whether a row of the task is being fired: its other rows wait for the result. */
  isBusy(taskId: string): boolean {
    return this.#tasks.has(taskId)
  }

  /** Whether the row, in this state, is being fired or has been fired since the read began. */
  covers({ runId, fence }: Seen): boolean {
    return fence <= Math.max(this.#runs.get(runId) ?? -1, this.#firedMeanwhile?.get(runId) ?? -1)
  }

  /** Reserves a row for later firing, so that it is not read again meanwhile. */
  reserve({ runId, fence }: Seen): void {
    this.#runs.set(runId, fence)
  }

  /** Releases a row that was reserved and is not fired here after all. */
  giveUp({ runId }: Seen): void {
    this.#runs.delete(runId)
  }

  begin(row: Seen): void {
    this.reserve(row)
    this.#tasks.set(row.taskId, (this.#tasks.get(row.taskId) ?? 0) + 1)
  }

  end(row: Seen): void {
    this.giveUp(row)
    const left = (this.#tasks.get(row.taskId) ?? 0) - 1
    if (left > 0) this.#tasks.set(row.taskId, left)
    else this.#tasks.delete(row.taskId)
    this.#firedMeanwhile?.set(row.runId, row.fence)
  }

  readingBegins(): void {
    this.#firedMeanwhile = new Map()
  }

  readingEnds(): void {
    this.#firedMeanwhile = undefined
  }
}
