import { uuidv7 } from '../../core/ids.ts'
import { cancelBackfills } from '../../store/backfills.ts'
import { changing } from '../../store/changing.ts'
import * as changes from '../../store/task-changes.ts'
import type { Context } from './context.ts'
import { recordPause } from './pause-task.ts'
import { notFound } from './read-tasks.ts'
import { haltTask, recordDue } from './settle.ts'

/** Ends the task: nothing more is due, what waits is cancelled, what runs is told to stop. */
export async function endTask(
  { db, projectId, wakeUps }: Context,
  id: string,
  how: 'cancel' | 'delete',
): Promise<void> {
  await changing(db, async (tx) => {
    const [task] = await tx.run(changes.lockTask(projectId, id))
    if (!task) return notFound(id)
    const [ended] = await tx.run(how === 'cancel' ? changes.markCancelled(id) : changes.markDeleted(id))
    await tx.run(changes.sweepDuties(id, ['resume', 'skip']))
    const swept = await haltTask(tx, id)
    const until = ended?.cancelledAt ?? Number.NEGATIVE_INFINITY
    if (task.pausedAt !== null && task.cancelledAt === null) await recordPause(tx, { task, projectId, until })
    await recordDue(tx, swept, { task, projectId, reason: 'cancelled', until })
    // Before the runs are cancelled: whoever is writing some of a backfill is waited for.
    await tx.run(cancelBackfills({ taskId: id, id: null }))
    await tx.run(changes.lockRuns({ taskId: id, runId: null }))
    await tx.run(changes.cancelRuns({ taskId: id, runId: null, heirId: uuidv7() }))
  })
  wakeUps.announceCancel()
}
