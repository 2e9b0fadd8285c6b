/**
 * Lets tasks go on that waited for files. It is done in the transaction that completes a file, so that no task waits for a file that is
 * there; what that transaction does not get to, because it is too much or somebody is changing the task, follows within seconds.
 */
import { shardOf } from '../../core/ids.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { lockEndedWaits } from '../../store/tasks/file-waits.ts'
import { lockTask } from '../../store/tasks/task-statements.ts'
import type { DueHint } from '../../transport/wake-ups.ts'
import type { Facilities } from '../context.ts'
import { endWait } from './pause-task.ts'

/** Tasks that one transaction lets go on. */
const AT_ONCE = 100

/** Lets tasks go on whose last file was completed; answers when they are due. */
export async function endWaits(
  tx: Queryable,
  { clock }: Pick<Facilities, 'clock'>,
  fileId: string | null,
): Promise<DueHint[]> {
  const due: DueHint[] = []
  for (const { id, projectId } of await tx.run(lockEndedWaits({ fileId, limit: AT_ONCE }))) {
    const [task] = await tx.run(lockTask(projectId, id))
    if (!task?.awaitsFiles) continue
    const at = await endWait(tx, { task, projectId, now: Math.floor(clock.now()) })
    if (at !== null) due.push({ shard: shardOf(id), at })
  }
  return due
}

/** Lets some tasks go on that no transaction got to. */
export async function endForgottenWaits(
  facilities: Pick<Facilities, 'db' | 'clock' | 'wakeUps'>,
): Promise<void> {
  const due = await withDeadlockRetry(facilities.db, (tx) => endWaits(tx, facilities, null))
  if (due.length > 0) facilities.wakeUps.announceDue(due)
}
