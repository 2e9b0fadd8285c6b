/**
 * One-offs whose instant has passed during a pause and which run all the same when it ends: those of tasks that waited for files, and those
 * of tasks that were created paused, if the instant had passed when it was set. Any other one-off is over when its instant passes during a
 * pause.
 */

import { firstOccurrence } from '../../core/schedule/occurrences.ts'
import { instantMs, planOf } from '../../core/task/task.ts'
import { MAX_INTEGER } from '../../core/values/integer.ts'
import type { Queryable } from '../../store/database/database.ts'
import { historyBeginOf } from '../../store/history/run-search.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import { hasOccurrence } from '../../store/tasks/next-row.ts'
import { type EarlierOnce, earlierOnces } from '../../store/tasks/task-versions.ts'
import { nextOrdinal, writeNext } from './settle.ts'

/** When a paused one-off is due that has come to nothing yet. */
export async function onceAhead(tx: Queryable, task: Once['task']): Promise<number | null> {
  return (await settingAhead(tx, task))?.at ?? null
}

/**
 * Returns whether an occurrence of a one-off ran or was skipped, when an edit of a task that is not paused sets its instant. Where history
 * was deleted, the replaced versions tell: whichever was in force when the instant came led to a run or a skip.
 */
export async function isOnceOver(
  tx: Queryable,
  { task, projectId, at }: { task: Pick<LockedTask, 'id' | 'version'>; projectId: string; at: number },
): Promise<boolean> {
  const [known] = await tx.run(hasOccurrence(task.id, at))
  if (known?.exists) return true
  // Asked last: what is deleted from history meanwhile is known to be gone.
  const [begin] = await tx.run(historyBeginOf(projectId))
  if (at >= (begin?.at ?? Number.NEGATIVE_INFINITY)) return false
  const replaced = await tx.run(earlierOnces({ taskId: task.id, before: task.version + 1, at }))
  return replaced.some((one) => one.at !== null && instantMs(one.at) === at && one.passedIn !== null)
}

/** When a one-off was due that has been held since its task was created paused: it was due at once, or became so by an edit. */
export async function onceHeld(tx: Queryable, task: LockedTask): Promise<number | null> {
  const { pausedAt, isPausedFromStart, awaitsFiles } = task
  if (pausedAt === null || !isPausedFromStart || awaitsFiles) return null
  const ahead = await settingAhead(tx, task)
  return ahead !== null && ahead.at <= (ahead.setAt ?? pausedAt) ? ahead.at : null
}

/** The instant of a one-off, and when it was set: by the last edit that moved it, or null if the task was created with it. */
interface Setting {
  readonly at: number
  readonly setAt: number | null
}

/**
 * Returns how the instant of a paused one-off was set; null if it has led to a run or a skip. The edit that took an instant away from a
 * paused task recorded it if it had passed, so an edit that gives the same one back changes nothing, whatever retention has deleted.
 */
async function settingAhead(
  tx: Queryable,
  { id, version, definition, isSettled }: Once['task'],
): Promise<Setting | null> {
  if (definition.schedule.type !== 'once' || isSettled) return null
  const at = firstOccurrence(planOf(definition), Number.NEGATIVE_INFINITY)
  const [known] = at === null ? [] : await tx.run(hasOccurrence(id, at))
  if (at === null || known?.exists) return null
  const earlier = version === 1 ? [] : await tx.run(earlierOnces({ taskId: id, before: version, at }))
  const isSame = (one: EarlierOnce) => one.at !== null && instantMs(one.at) === at
  const other = earlier.find((one) => !isSame(one))
  const isRepeated = earlier.some(
    (one) => isSame(one) && one.passedIn !== null && one.passedIn < (other?.last ?? 0),
  )
  return isRepeated ? null : { at, setAt: other?.until ?? null }
}

/** As much as an occurrence can be put off. */
const MAX_PUT_OFF_MS = MAX_INTEGER

interface Once {
  readonly task: LockedTask
  readonly projectId: string
  readonly at: number
  readonly now: number
}

/** Writes the row of a one-off, due at its instant or else now. Answers when it is due. */
export async function writeOnce(tx: Queryable, { task, projectId, at, now }: Once): Promise<number> {
  const { id: taskId, definition, version } = task
  const ordinal = await nextOrdinal(tx, task)
  const next = { taskId, projectId, definition, version, at, ordinal, delayMs: null }
  if (at > now) await writeNext(tx, next)
  else await writeNext(tx, { ...next, jitterMs: Math.min(Math.ceil(now - at), MAX_PUT_OFF_MS) })
  return Math.max(at, now)
}
