/**
 * Resumes tasks that waited for files. It runs in the transaction that completes a file, so that no task waits for a file that
 * is there. Tasks that this transaction leaves out, because there are too many or another transaction is changing them, follow
 * within seconds.
 */
import { shardOf } from '../../core/ids.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { type EndedWait, lockEndedWaits, type WaitsAsked } from '../../store/tasks/file-waits.ts'
import { lockTask } from '../../store/tasks/locked-task.ts'
import type { DueHint } from '../../transport/wake-ups.ts'
import type { Facilities } from '../context.ts'
import { endWait } from './pause-task.ts'

/** Maximum number of tasks that one transaction resumes. */
const AT_ONCE = 100

/** Resumes tasks whose last file was completed; returns when they are due. */
export async function endWaits(
  tx: Queryable,
  { clock }: Pick<Facilities, 'clock'>,
  asked: Omit<WaitsAsked, 'limit'>,
): Promise<DueHint[]> {
  const due: DueHint[] = []
  for (const { id, projectId } of await tx.run(lockEndedWaits({ ...asked, limit: AT_ONCE }))) {
    const [task] = await tx.run(lockTask(projectId, id))
    if (!task?.awaitsFiles) continue
    const at = await endWait(tx, { task, projectId, now: Math.floor(clock.now()) })
    if (at !== null) due.push({ shard: shardOf(id), at })
  }
  return due
}

/** Returns tasks, other than the given ones, that the transactions which completed their files left out. */
export const forgottenWaits = (db: Queryable, except: readonly string[]): Promise<EndedWait[]> =>
  db.run(lockEndedWaits({ except, limit: AT_ONCE }))

/** Resumes such tasks, all or none of them. */
export async function endForgottenWaits(
  facilities: Pick<Facilities, 'db' | 'clock' | 'wakeUps'>,
  waits: readonly EndedWait[],
): Promise<void> {
  const only = waits.map(({ id }) => id)
  const due = await withDeadlockRetry(facilities.db, (tx) => endWaits(tx, facilities, { only }))
  if (due.length > 0) facilities.wakeUps.announceDue(due)
}
