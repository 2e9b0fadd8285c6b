/** Writes the rows of an edited task: at the same times, if only what it does has changed, or by the new schedule. */
import { laneOf } from '../../core/run/lane.ts'
import { delayMs, firstOccurrence, nextOccurrence } from '../../core/schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import type { Queryable } from '../../store/database/database.ts'
import { continueChain, keepOrdinal, latestOccurrence, type SweptRow } from '../../store/tasks/next-row.ts'
import { endVersion } from '../../store/tasks/redefinition.ts'
import { chainDelay, firstRow } from './define-task.ts'
import { isOnceOver } from './once-ahead.ts'
import { haltTask, nextOrdinal, recordDue, writeAhead, writeNext } from './settle.ts'
import { type Change, goesOnFrom, settleDue } from './settle-due.ts'
import { dropSkips } from './skip-next.ts'

/** Keeps the times of the task, because only what it does has changed. Returns when the rows that it wrote are due. */
export async function carryOver(tx: Queryable, change: Change): Promise<number[]> {
  const { task, definition, version, projectId } = change
  const swept = await haltTask(tx, task.id)
  const delayMs = chainDelay(definition)
  if (swept === null) {
    await leaveToActiveRun(tx, change)
    return []
  }
  const { scheduledFor: at, ordinal } = swept
  await tx.run(endVersion({ taskId: task.id, version: task.version, until: at - 1 }))
  await writeNext(tx, { taskId: task.id, projectId, definition, version, at, ordinal, delayMs })
  return [at]
}

/** Continues with the new schedule. Returns when the rows that it wrote are due. */
export async function reschedule(tx: Queryable, change: Change): Promise<number[]> {
  const { task, definition, version, projectId, now } = change
  await dropSkips(tx, task, { projectId, now })
  const swept = await haltTask(tx, task.id)
  const ordinal = swept?.ordinal ?? (await nextOrdinal(tx, task))
  // A manual task has no next row, and retention deletes the history of the others.
  if (ordinal > task.nextOrdinal) await tx.run(keepOrdinal(task.id, ordinal))
  const row = { taskId: task.id, projectId, definition, version, delayMs: chainDelay(definition) }
  const due = swept !== null && swept.scheduledFor <= now ? swept : null
  const isOver = isBeyond(definition, ordinal)
  const isKept = due !== null && !isOver && goesOnFrom(change, due.scheduledFor)
  const until = isKept ? due.scheduledFor : await passedUntil(tx, change)
  await tx.run(endVersion({ taskId: task.id, version: task.version, until }))
  if (isOver) {
    await recordDue(tx, swept, { task, projectId, reason: 'bounds', until: now })
    return []
  }
  if (isKept) {
    await writeNext(tx, { ...row, at: due.scheduledFor, ordinal })
    return [due.scheduledFor]
  }
  const written = due === null ? [] : await settleDue(tx, change, due)
  const isChained = row.delayMs !== null && written.length > 0
  if (isChained || (await leaveToActiveRun(tx, change))) return written
  const next = ordinal + written.length
  const at = isBeyond(definition, next) ? null : await nextAt(tx, change, swept)
  if (at === null || written.includes(at)) return written
  const skipUntil = task.skipUntil !== null && task.skipUntil > now ? task.skipUntil : null
  return [...written, await writeAhead(tx, { ...row, at, ordinal: next }, skipUntil)]
}

const isBeyond = ({ maxRuns }: TaskDefinition, ordinal: number) => maxRuns !== null && ordinal > maxRuns

/** Returns how far the old schedule has been processed: up to now, or to a row that was fired a moment early. */
export async function passedUntil(
  tx: Queryable,
  { task, now }: Pick<Change, 'task' | 'now'>,
): Promise<number> {
  const [latest] = await tx.run(latestOccurrence(task.id))
  return Math.max(now, latest?.until ?? now)
}

/** Lets the end of an active run write the next row, if the task is a chain and has an active run. */
async function leaveToActiveRun(tx: Queryable, { task, definition, projectId }: Change): Promise<boolean> {
  const delayMs = chainDelay(definition)
  if (delayMs === null) return false
  const lane = laneOf(projectId, definition).id
  const { priority } = definition
  return (await tx.run(continueChain({ taskId: task.id, delayMs, lane, priority }))).length > 0
}

/** Returns the next occurrence of the new definition that the old one did not have already. */
async function nextAt(
  tx: Queryable,
  { task, definition, projectId, now }: Change,
  swept: SweptRow | null,
): Promise<number | null> {
  const plan = planOf(definition)
  switch (definition.schedule.type) {
    case 'manual':
      return null
    case 'once': {
      const at = firstOccurrence(plan, now)
      const isOver = at !== null && (await isOnceOver(tx, { task, projectId, at }))
      return isOver ? null : (firstRow(definition, now)?.at ?? null)
    }
    case 'delay': {
      const at = nextOfEditedChain(task.definition, definition, { now, swept })
      const [latest] = await tx.run(latestOccurrence(task.id))
      // A new chain could begin in the same millisecond as the last occurrence of the old schedule.
      return at === null || latest?.until == null ? at : Math.max(at, latest.until + 1)
    }
    default:
      return nextOccurrence(plan, await passedUntil(tx, { task, now }))
  }
}

/** Returns the next occurrence of a chain. A waiting chain keeps counting from the end of its last run; any other starts anew. */
function nextOfEditedChain(
  before: TaskDefinition,
  after: TaskDefinition,
  { now, swept }: { now: number; swept: SweptRow | null },
): number | null {
  const { startAt, endAt } = planOf(after)
  if (swept === null || before.schedule.type !== 'delay' || after.schedule.type !== 'delay')
    return firstRow(after, now)?.at ?? null
  const hasRun = swept.ordinal > 1
  if (!hasRun && startAt !== planOf(before).startAt) return firstRow(after, now)?.at ?? null
  const shift = hasRun ? delayMs(after.schedule) - delayMs(before.schedule) : 0
  const at = Math.max(swept.scheduledFor + shift, now, startAt ?? now)
  return endAt !== null && at > endAt ? null : at
}
