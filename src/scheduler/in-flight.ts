import type { DueRow } from '../store/agenda/agenda.ts'

/** As much of a row as tells one state of a run from a later one: whoever changes a run raises its fence. */
type Seen = Pick<DueRow, 'runId' | 'taskId' | 'fence'>

/**
 * What is being fired right now, or is about to be. To read such a row and fire it again would be in vain, but
 * only as it was then: a run that was started and has failed meanwhile is there anew, with a higher fence.
 */
export class InFlight {
  /** The fence each run is being fired with. */
  readonly #runs = new Map<string, number>()
  /** How many rows of each task are being fired. */
  readonly #tasks = new Map<string, number>()
  /** Fired since the present reading began, which may have seen them as they were before. */
  #firedMeanwhile: Map<string, number> | undefined

  /** Every run that is being fired, or kept for it. */
  get runIds(): Iterable<string> {
    return this.#runs.keys()
  }

  /** Whether a row of the task is being fired: others of it wait for what comes of that. */
  isBusy(taskId: string): boolean {
    return this.#tasks.has(taskId)
  }

  /** Whether a row was read as it is being fired, or has been since the reading began. */
  covers({ runId, fence }: Seen): boolean {
    return fence <= Math.max(this.#runs.get(runId) ?? -1, this.#firedMeanwhile?.get(runId) ?? -1)
  }

  /** A row is kept for later, and must not be read meanwhile. */
  reserve({ runId, fence }: Seen): void {
    this.#runs.set(runId, fence)
  }

  /** A row that was kept for later is not fired here after all. */
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
