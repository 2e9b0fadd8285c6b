/** Finds, among the tasks that failed lately, those whose latest run failed, and how often in a row they have failed. */

import { utc } from '../../core/values/utc.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type FailedTask, type FailureStreak, failureStreaks } from '../../store/history/overview.ts'

const FAILING_SHOWN = 10
/** Maximum number of runs of each task that are examined to find its latest success. */
export const MAX_STREAK = 1_000

export async function failingOf(tx: Queryable, failed: readonly FailedTask[]) {
  const failing = failed.filter(({ states }) => states?.[0] !== 'completed')
  const shown = failing.slice(0, FAILING_SHOWN)
  const taskIds = shown.map(({ taskId }) => taskId)
  const streaks = await tx.run(failureStreaks({ taskIds, maxRuns: MAX_STREAK }))
  const items = shown.flatMap((task) => present(task, streaks))
  return {
    count: failing.length - (shown.length - items.length),
    atLeast: failed[0]?.isCut ?? false,
    items,
  }
}

/** Returns nothing for a task whose latest failure is before a success and more skips than the first query examined. */
function present({ taskId, taskName, failedAt }: FailedTask, streaks: readonly FailureStreak[]) {
  const streak = streaks.find((found) => found.taskId === taskId)
  if (!streak || streak.since === null) return []
  const { failures, since, isCut } = streak
  return [{ taskId, taskName, failures, atLeast: isCut, since: utc(since), lastFailedAt: utc(failedAt) }]
}
