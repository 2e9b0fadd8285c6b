import type { KeptDefinition } from '../core/task/task.ts'
import { Heap } from '../runtime/heap.ts'
import type { DueRow } from '../store/agenda/agenda.ts'

/** A row that comes due, and what its task says. */
export interface Due {
  readonly row: DueRow
  readonly definition: KeptDefinition
}

const byTurn = (a: Due, b: Due) => a.row.priority - b.row.priority || a.row.wakeAt - b.row.wakeAt

/**
 * What comes due soon. A run is held once, however often it is read, as it was read last. What is due is
 * taken by priority and then by time; what is not waits in order of time.
 */
export class DueQueue {
  readonly #later = new Heap<Due>((a, b) => a.row.wakeAt - b.row.wakeAt)
  readonly #due = new Heap(byTurn)
  /** What is due of tasks of which another row goes first: it waits here, so that other tasks do not wait behind it. */
  readonly #behind = new Map<string, Heap<Due>>()
  #behindSize = 0
  /** The highest fence each run was read with; an older entry of it in a heap no longer counts. */
  readonly #fences = new Map<string, number>()

  get size(): number {
    return this.#later.size + this.#due.size + this.#behindSize
  }

  /** When something must be looked at; in the past while there is something due. */
  get nextAt(): number | undefined {
    const [behind] = this.#behind.values()
    return (this.#due.first ?? behind?.first ?? this.#later.first)?.row.wakeAt
  }

  /** Every run that is held, as due before an instant. */
  *runIdsBefore(instant: number): Iterable<string> {
    for (const heap of [this.#later, this.#due, ...this.#behind.values()])
      for (const { row } of heap) if (row.wakeAt < instant && this.holds(row)) yield row.runId
  }

  /** Whether a row is held as it was read now. */
  holds({ runId, fence }: DueRow): boolean {
    return this.#fences.get(runId) === fence
  }

  add(due: Due): void {
    // One that was taken before and comes back says less than what was read since.
    if ((this.#fences.get(due.row.runId) ?? -1) >= due.row.fence) return
    this.#fences.set(due.row.runId, due.row.fence)
    this.#later.push(due)
  }

  /**
   * Takes what is due up to an instant, at most `limit` and at most one a task: the statement that fires
   * them decides about overlap by what it sees, and two of one task would not see each other. Nothing is
   * taken of a task of which another statement is firing a row just now.
   */
  takeDue(upTo: number, limit: number, isBusy: (taskId: string) => boolean = () => false): Due[] {
    while ((this.#later.first?.row.wakeAt ?? Number.POSITIVE_INFINITY) <= upTo)
      this.#due.push(this.#later.pop() as Due)
    this.#bringForward(isBusy)
    const taken: Due[] = []
    const tasks = new Set<string>()
    while (taken.length < limit) {
      const due = this.#due.pop()
      if (!due) break
      if (!this.holds(due.row)) continue
      if (tasks.has(due.row.taskId) || isBusy(due.row.taskId)) {
        this.#putBehind(due)
        continue
      }
      this.#fences.delete(due.row.runId)
      tasks.add(due.row.taskId)
      taken.push(due)
    }
    return taken
  }

  #putBehind(due: Due): void {
    const { taskId } = due.row
    const rows = this.#behind.get(taskId) ?? new Heap(byTurn)
    this.#behind.set(taskId, rows)
    rows.push(due)
    this.#behindSize++
  }

  /** The first that waits of each task takes its turn again, once no other row of the task is being fired. */
  #bringForward(isBusy: (taskId: string) => boolean): void {
    for (const [taskId, rows] of this.#behind) {
      if (isBusy(taskId)) continue
      this.#due.push(rows.pop() as Due)
      this.#behindSize--
      if (rows.size === 0) this.#behind.delete(taskId)
    }
  }

  /** Forgets everything in shards that are no longer watched here. */
  retain(isWatched: (shard: number) => boolean): void {
    const behind = [...this.#behind.values()].flatMap((rows) => rows.clear())
    const all = [...behind, ...this.#due.clear(), ...this.#later.clear()]
    const kept = all.filter(({ row }) => isWatched(row.shard))
    this.#behind.clear()
    this.#behindSize = 0
    this.#fences.clear()
    for (const due of kept.reverse()) this.add(due)
  }
}
