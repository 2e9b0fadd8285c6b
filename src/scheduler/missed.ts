import { isBrief, stretchAt, type Unwatched } from '../core/policy/misfire.ts'
import { dueAt, nextOccurrence } from '../core/schedule/occurrences.ts'
import { planOf } from '../core/task/task.ts'
import { dueInstant } from './decide.ts'
import type { Due } from './due-queue.ts'

/**
 * Whether a row was missed in an outage and its task catches up on all missed occurrences, which may require many writes. A
 * single occurrence after a brief unwatched period does not count: it simply runs.
 */
export function needsCatchUp(due: Due, unwatched: readonly Unwatched[], graceMs: number): boolean {
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
 * Rows whose tasks catch up on all missed occurrences. Each of them writes up to the task's cap of rows, so they wait here and
 * are fired a few at a time, beside the runs on time and never ahead of them.
 */
export class Missed {
  #dues: Due[] = []

  get size(): number {
    return this.#dues.length
  }

  add(due: Due): void {
    this.#dues.push(due)
  }

  /** Takes the first rows, at most one per task, until they amount to `rows` written rows; busy tasks are left waiting. */
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

  /** Removes everything in shards that this node no longer owns; returns what was removed. */
  retain(isWatched: (shard: number) => boolean): Due[] {
    const forgotten = this.#dues.filter(({ row }) => !isWatched(row.shard))
    this.#dues = this.#dues.filter(({ row }) => isWatched(row.shard))
    return forgotten
  }
}
