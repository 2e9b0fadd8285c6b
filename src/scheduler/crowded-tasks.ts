/**
 * Detects tasks of which very many runs begin to wait in a short time. Their runs wait in their own lane beside their
 * usual lane. Lanes take turns, so a burst of one task delays the other runs by one turn, not by the whole burst.
 */

/** A task is crowded when it exceeds PER_SECOND new waiting runs per second by more than CROWD runs. */
const CROWD = 500
const PER_SECOND = 100
/** Maximum numbers of watched tasks and of lanes for crowded tasks. The latter is small because workers read all of them. */
const MAX_WATCHED = 10_000
const MAX_CROWDED = 100

interface Watched {
  /** Waiting runs beyond those that the rate PER_SECOND allows. */
  excess: number
  at: number
  isCrowded: boolean
}

export class CrowdedTasks {
  readonly #watched = new Map<string, Watched>()
  #crowded = 0

  /** Counts runs that begin to wait at an instant of the monotonic clock; returns the tasks that are crowded. */
  note(taskIds: readonly string[], now: number): ReadonlySet<string> {
    const counts = new Map<string, number>()
    for (const id of taskIds) counts.set(id, (counts.get(id) ?? 0) + 1)
    const crowded = new Set<string>()
    for (const [id, count] of counts) if (this.#isCrowded(id, count, now)) crowded.add(id)
    if (this.#watched.size > MAX_WATCHED) this.#forgetOthers()
    return crowded
  }

  #isCrowded(id: string, count: number, now: number): boolean {
    const known = this.#watched.get(id)
    // Most tasks have one run at a time: they need no entry.
    if (!known && count === 1) return false
    const task = known ?? { excess: 0, at: now, isCrowded: false }
    task.excess = Math.max(0, task.excess - ((now - task.at) / 1_000) * PER_SECOND) + count
    task.at = now
    this.#watched.set(id, task)
    if (task.isCrowded && task.excess <= count) this.#set(task, false)
    if (!task.isCrowded && task.excess > CROWD && this.#crowded < MAX_CROWDED) this.#set(task, true)
    return task.isCrowded
  }

  #set(task: Watched, isCrowded: boolean): void {
    task.isCrowded = isCrowded
    this.#crowded += isCrowded ? 1 : -1
  }

  #forgetOthers(): void {
    for (const [id, { isCrowded }] of this.#watched) if (!isCrowded) this.#watched.delete(id)
  }
}
