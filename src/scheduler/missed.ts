import { isBrief, stretchAt, type Unwatched } from '../core/policy/misfire.ts'
import { dueAt, nextOccurrence } from '../core/schedule/occurrences.ts'
import { planOf } from '../core/task/task.ts'
import { dueInstant } from './decide.ts'
import type { Due } from './due-queue.ts'

/**
 * Whether a row was missed in an outage and all that was missed is made up for, which may be a lot to write. One alone
 * that was held up for a moment is not: it simply runs.
 */
export function isMadeUpFor(due: Due, unwatched: readonly Unwatched[], graceMs: number): boolean {
  const { row, definition } = due
  const { misfire, schedule } = definition
  if (misfire.policy !== 'run_all' || row.kind !== 'occurrence' || row.state !== 'scheduled') return false
  if (schedule.type === 'once' || schedule.type === 'delay') return false
  const stretch = stretchAt(unwatched, dueInstant(due))
  if (stretch === null) return false
  const plan = planOf(definition)
  const next = nextOccurrence(plan, row.scheduledFor)
  return !isBrief(stretch, graceMs) || (next !== null && dueAt(plan, next) <= stretch.to)
}

/**
 * Rows whose tasks missed occurrences that are all made up for. Laying them out writes up to as many rows as the task's cap
 * allows, so they wait here and go a few at a time, beside what is on time and never in front of it.
 */
export class Missed {
  #dues: Due[] = []

  get size(): number {
    return this.#dues.length
  }

  add(due: Due): void {
    this.#dues.push(due)
  }

  /** Takes the first, one a task at most, until they come to so many rows; what is busy waits. */
  take(rows: number, isBusy: (taskId: string) => boolean): Due[] {
    const taken = new Map<string, Due>()
    const left: Due[] = []
    let count = 0
    for (const due of this.#dues) {
      const { taskId } = due.row
      if (count >= rows || taken.has(taskId) || isBusy(taskId)) left.push(due)
      else {
        taken.set(taskId, due)
        count += due.definition.misfire.cap
      }
    }
    this.#dues = left
    return [...taken.values()]
  }

  /** Forgets everything in shards that are no longer watched here; answers what it forgot. */
  retain(isWatched: (shard: number) => boolean): Due[] {
    const forgotten = this.#dues.filter(({ row }) => !isWatched(row.shard))
    this.#dues = this.#dues.filter(({ row }) => isWatched(row.shard))
    return forgotten
  }
}
