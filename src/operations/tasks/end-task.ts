import { uuidv7 } from '../../core/ids.ts'
import { utc } from '../../core/values/utc.ts'
import { cancelBackfills } from '../../store/backfills/backfills.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { replaceSecretUses } from '../../store/secrets/uses.ts'
import { cancelRuns, lockRuns, markCancelled, markDeleted } from '../../store/tasks/cancel.ts'
import { sweepDuties } from '../../store/tasks/duties.ts'
import { recordChange, taskSubject } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { eraseSecrets } from './erase-secrets.ts'
import { endOverdue, recordPause } from './pause-task.ts'
import { haltTask, lockOwn, recordDue } from './settle.ts'
import { dropSkips } from './skip-next.ts'

/** Ends the task: it has no more occurrences, its waiting runs are cancelled, and its running ones are requested to stop. */
export async function endTask(context: Context, id: string, how: 'cancel' | 'delete'): Promise<void> {
  const { db, projectId, wakeUps, clock } = context
  await withDeadlockRetry(db, async (tx) => {
    const locked = await lockOwn(tx, context, id)
    const task = await endOverdue(tx, locked, { projectId, now: clock.now() })
    const [ended] = await tx.run(how === 'cancel' ? markCancelled(id) : markDeleted(id))
    const until = ended?.cancelledAt ?? Number.NEGATIVE_INFINITY
    await dropSkips(tx, task, { projectId, now: until })
    await tx.run(sweepDuties(id, ['resume', 'skip']))
    const swept = await haltTask(tx, id)
    if (task.pausedAt !== null && task.cancelledAt === null) await recordPause(tx, { task, projectId, until })
    await recordDue(tx, swept, { task, projectId, reason: 'cancelled', until })
    // Before the runs are cancelled: this waits for a scheduler that is adding runs of a backfill.
    await tx.run(cancelBackfills({ taskId: id, id: null }))
    await tx.run(lockRuns({ taskId: id, runId: null }))
    await tx.run(cancelRuns({ taskId: id, runId: null, nextRunId: uuidv7() }))
    if (how === 'delete') {
      await eraseSecrets(tx, id)
      if (task.definition.secrets) await tx.run(replaceSecretUses(projectId, { taskId: id, names: [] }))
    }
    if (how === 'delete' || task.cancelledAt === null)
      await recordChange(tx, context, {
        action: `task.${how}`,
        subject: taskSubject(task),
        ...(how === 'delete'
          ? { before: { version: task.version } }
          : { before: { cancelledAt: null }, after: { cancelledAt: utc(until) } }),
      })
  })
  wakeUps.announceCancel()
}
