import type { DueRow } from '../store/agenda.ts'

/** What comes due soon, earliest first. A run is held once, however often it is read, as it was read last. */
export class DueQueue {
  readonly #heap: DueRow[] = []
  /** The fence each run was read with last; an older entry of it in the heap no longer counts. */
  readonly #fences = new Map<string, number>()

  get size(): number {
    return this.#heap.length
  }

  /** When the earliest one must be looked at. */
  get nextAt(): number | undefined {
    return this.#heap[0]?.wakeAt
  }

  add(row: DueRow): void {
    if (this.#fences.get(row.runId) === row.fence) return
    this.#fences.set(row.runId, row.fence)
    const heap = this.#heap
    let i = heap.push(row) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      const above = heap[parent] as DueRow
      if (above.wakeAt <= row.wakeAt) break
      heap[i] = above
      i = parent
    }
    heap[i] = row
  }

  /**
   * Takes what is due up to an instant, at most `limit` and at most one a task: the statement that fires
   * them decides about overlap by what it sees, and two of one task would not see each other.
   */
  takeDue(upTo: number, limit: number): DueRow[] {
    const taken: DueRow[] = []
    const heldBack: DueRow[] = []
    const tasks = new Set<string>()
    while (
      taken.length < limit &&
      heldBack.length < limit &&
      (this.nextAt ?? Number.POSITIVE_INFINITY) <= upTo
    ) {
      const row = this.#pop()
      if (this.#fences.get(row.runId) !== row.fence) continue
      this.#fences.delete(row.runId)
      if (tasks.has(row.taskId)) {
        heldBack.push(row)
      } else {
        tasks.add(row.taskId)
        taken.push(row)
      }
    }
    for (const row of heldBack) this.add(row)
    return taken
  }

  /** Forgets everything in shards that are no longer watched here. */
  retain(isWatched: (shard: number) => boolean): void {
    const kept = this.#heap.filter((row) => isWatched(row.shard))
    this.#heap.length = 0
    this.#fences.clear()
    for (const row of kept) this.add(row)
  }

  #pop(): DueRow {
    const heap = this.#heap
    const top = heap[0] as DueRow
    const last = heap.pop() as DueRow
    if (heap.length === 0) return top
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && (heap[child + 1] as DueRow).wakeAt < (heap[child] as DueRow).wakeAt)
        child++
      if ((heap[child] as DueRow).wakeAt >= last.wakeAt) break
      heap[i] = heap[child] as DueRow
      i = child
    }
    heap[i] = last
    return top
  }
}
