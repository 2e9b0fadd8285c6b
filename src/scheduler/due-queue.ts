import type { TaskDefinition } from '../core/task.ts'
import type { DueRow } from '../store/agenda.ts'
import { Heap } from './heap.ts'

/** A row that comes due, and what its task says. */
export interface Due {
  readonly row: DueRow
  readonly definition: TaskDefinition
}

/**
 * What comes due soon. A run is held once, however often it is read, as it was read last. What is due is
 * taken by priority and then by time; what is not waits in order of time.
 */
export class DueQueue {
  readonly #later = new Heap<Due>((a, b) => a.row.wakeAt - b.row.wakeAt)
  readonly #due = new Heap<Due>((a, b) => a.row.priority - b.row.priority || a.row.wakeAt - b.row.wakeAt)
  /** The highest fence each run was read with; an older entry of it in a heap no longer counts. */
  readonly #fences = new Map<string, number>()

  get size(): number {
    return this.#later.size + this.#due.size
  }

  /** When something must be looked at; in the past while there is something due. */
  get nextAt(): number | undefined {
    return this.#due.first?.row.wakeAt ?? this.#later.first?.row.wakeAt
  }

  /** Every run that is held. */
  get runIds(): Iterable<string> {
    return this.#fences.keys()
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
    const taken: Due[] = []
    const heldBack: Due[] = []
    const tasks = new Set<string>()
    while (taken.length < limit && heldBack.length < limit) {
      const due = this.#due.pop()
      if (!due) break
      if (!this.holds(due.row)) continue
      if (tasks.has(due.row.taskId) || isBusy(due.row.taskId)) {
        heldBack.push(due)
        continue
      }
      this.#fences.delete(due.row.runId)
      tasks.add(due.row.taskId)
      taken.push(due)
    }
    for (const due of heldBack) this.#due.push(due)
    return taken
  }

  /** Forgets everything in shards that are no longer watched here. */
  retain(isWatched: (shard: number) => boolean): void {
    const kept = [...this.#due.clear(), ...this.#later.clear()].filter(({ row }) => isWatched(row.shard))
    this.#fences.clear()
    for (const due of kept.reverse()) this.add(due)
  }
}
