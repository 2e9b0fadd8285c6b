/**
 * Carries out the rows of the agenda that are not runs: the set end of a pause, and occurrences to skip. Like every change of a
 * task, it locks the task first. The row may be gone by then, because a user resumed or changed the task.
 */
import { shardOf } from '../../core/ids.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { holdArchived } from '../../store/projects/projects.ts'
import { dutyOf, takeDuty } from '../../store/tasks/duties.ts'
import { type LockedTask, lockTask } from '../../store/tasks/locked-task.ts'
import type { Facilities } from '../context.ts'

/** A row that has come due and was taken off the agenda. */
export interface Duty {
  readonly task: LockedTask
  readonly projectId: string
  /** The instant at which it came due. */
  readonly at: number
  /** Whether the project is archived. */
  readonly isArchived: boolean
}

/** Takes a row and carries it out in one transaction. `perform` returns when the next row of the task is due, or null. */
export async function performDuty(
  { db, wakeUps }: Facilities,
  runId: string,
  perform: (tx: Queryable, duty: Duty) => Promise<number | null>,
): Promise<void> {
  const due = await withDeadlockRetry(db, async (tx) => {
    const [duty] = await tx.run(dutyOf(runId))
    if (!duty) return null
    const { projectId } = duty
    // Restoring the project waits for this transaction, and then resumes what this keeps paused. The project is locked before the
    // task: what changes all tasks of a project locks it first too.
    const isArchived = duty.isArchived && (await tx.run(holdArchived(projectId))).length > 0
    const [task] = await tx.run(lockTask(projectId, duty.taskId))
    const [taken] = await tx.run(takeDuty(runId))
    if (!task || !taken) return null
    const at = await perform(tx, { task, projectId, at: taken.at, isArchived })
    return at === null ? null : { shard: shardOf(task.id), at }
  })
  if (due) wakeUps.announceDue([due])
}
