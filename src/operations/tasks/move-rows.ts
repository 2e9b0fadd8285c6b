/** Moves the rows of a task to its new version. A task that is paused or waits for files has none to move. */
import { firstOccurrence } from '../../core/schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import { settleTask } from '../../store/audit/audit.ts'
import type { Queryable } from '../../store/database/database.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import { markPaused, rewordPause } from '../../store/tasks/pauses.ts'
import { endVersion } from '../../store/tasks/redefinition.ts'
import type { Redefining, Stored } from './new-version.ts'
import { isOnceOver, onceHeld } from './once-ahead.ts'
import { endWait, recordPause } from './pause-task.ts'
import { carryOver, passedUntil, reschedule } from './reschedule.ts'
import { haltTask, nextOrdinal, recordDue } from './settle.ts'
import type { Change } from './settle-due.ts'
import { dropSkips } from './skip-next.ts'

/** Moves the rows of the task that are not due yet to the new version; returns when they are due. */
export async function moveRows(
  tx: Queryable,
  { context, task, redefined: { definition, isRetimed }, now, wait }: Redefining,
  { version, updatedAt }: Stored,
): Promise<number[]> {
  const { projectId } = context
  if (task.pausedAt !== null) {
    const isWaiting = task.awaitsFiles || (await onceHeld(tx, task)) !== null
    const isKept = isSameOnce(task.definition, definition)
    const isSettled = isKept && task.isSettled
    if (!isWaiting || !isKept) await recordPause(tx, { task, projectId, until: updatedAt })
    if (isSettled) await tx.run(settleTask(task.id, task.nextOrdinal))
    await tx.run(endVersion({ taskId: task.id, version: task.version, until: updatedAt }))
    if (!task.awaitsFiles) return []
    return goOnWaiting(tx, { task: { ...task, definition, version, updatedAt, isSettled }, projectId, wait })
  }
  const made = { context, task, definition, version, projectId, now }
  if (wait !== null) return beginWait(tx, made, wait)
  return isRetimed ? reschedule(tx, made) : carryOver(tx, made)
}

/** Updates a task that waited for files: it resumes if the files that it names now are there; otherwise it waits for those. */
async function goOnWaiting(
  tx: Queryable,
  { task, projectId, wait }: { task: LockedTask; projectId: string; wait: string | null },
): Promise<number[]> {
  if (wait !== null) {
    await tx.run(rewordPause(task.id, { reason: wait, until: null }))
    return []
  }
  const at = await endWait(tx, { task, projectId, now: Math.floor(task.updatedAt) })
  return at === null ? [] : [at]
}

/** Returns whether both definitions are one-offs with the same instant: the row that is waiting or due is then kept. */
const isSameOnce = (before: TaskDefinition, after: TaskDefinition): boolean =>
  before.schedule.type === 'once' &&
  after.schedule.type === 'once' &&
  firstOccurrence(planOf(before), 0) === firstOccurrence(planOf(after), 0)

/** Pauses the task because the new definition names a file that has not been uploaded. A one-off that is over is settled. */
async function beginWait(
  tx: Queryable,
  { task, projectId, definition, now }: Change,
  reason: string,
): Promise<number[]> {
  await dropSkips(tx, task, { projectId, now })
  const swept = await haltTask(tx, task.id)
  const ordinal = swept?.ordinal ?? (await nextOrdinal(tx, task))
  const until = await passedUntil(tx, { task, now })
  const at = definition.schedule.type === 'once' ? firstOccurrence(planOf(definition), now) : null
  const isKept = isSameOnce(task.definition, definition)
  const isAhead = isKept && swept !== null
  const isOver = at !== null && !isAhead && (await isOnceOver(tx, { task, projectId, at }))
  const [paused] = await tx.run(markPaused(task.id, ordinal, { reason, until: null, awaitsFiles: true }))
  if (isOver) await tx.run(settleTask(task.id, ordinal))
  if (!isKept)
    await recordDue(tx, swept, { task, projectId, reason: 'file_missing', until: paused?.pausedAt ?? now })
  await tx.run(
    endVersion({
      taskId: task.id,
      version: task.version,
      until: Math.max(until, paused?.pausedAt ?? now),
    }),
  )
  return []
}
