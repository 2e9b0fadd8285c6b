/**
 * Pausing and resuming. A pause takes the next row away; what would have been due meanwhile is recorded
 * as skipped, up to the pause when it begins, and from there on when it ends or the task is edited.
 */

import { shardOf } from '../../core/ids.ts'
import { laneOf } from '../../core/lane.ts'
import { nextOccurrence } from '../../core/schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../../core/task.ts'
import { changing } from '../../store/changing.ts'
import type { Queryable } from '../../store/database.ts'
import * as changes from '../../store/task-changes.ts'
import type { Context } from './context.ts'
import { chainDelay, firstRow } from './define-task.ts'
import { haltTask, lockLiving, recordDue, recordSkipped, writeNext } from './settle.ts'

export async function pauseTask({ db, projectId }: Context, id: string): Promise<void> {
  await changing(db, async (tx) => {
    const task = await lockLiving(tx, projectId, id)
    if (task.pausedAt !== null) return
    const swept = await haltTask(tx, id)
    const ordinal = swept?.ordinal ?? (await nextOrdinal(tx, task))
    const [paused] = await tx.run(changes.markPaused(id, ordinal))
    const until = paused?.pausedAt ?? Number.NEGATIVE_INFINITY
    await recordDue(tx, swept, { task, projectId, reason: 'paused', until })
  })
}

/** What the next occurrence counts as when there is no row that says so. */
export async function nextOrdinal(tx: Queryable, task: changes.LockedTask): Promise<number> {
  const [latest] = await tx.run(changes.latestOccurrence(task.id))
  return Math.max(task.nextOrdinal, latest?.nextOrdinal ?? 1)
}

export async function resumeTask({ db, clock, projectId, wakeUps }: Context, id: string): Promise<void> {
  const dueAt = await changing(db, async (tx) => {
    const task = await lockLiving(tx, projectId, id)
    if (task.pausedAt === null) return null
    const now = Math.floor(clock.now())
    await recordPause(tx, { task, projectId, until: now })
    await tx.run(changes.markResumed(id))
    return goOn(tx, { task, projectId, now })
  })
  if (dueAt !== null) wakeUps.announceDue([{ shard: shardOf(id), at: dueAt }])
}

interface PausedStretch {
  readonly task: changes.LockedTask
  readonly projectId: string
  readonly until: number
}

/** Records what was passed over since the pause began, or since it was recorded last. */
export async function recordPause(tx: Queryable, { task, projectId, until }: PausedStretch): Promise<void> {
  const [latest] = await tx.run(changes.latestOccurrence(task.id))
  // A row that was fired a little ahead of its instant, just before the pause, is not passed over.
  const after = Math.max(task.updatedAt, latest?.until ?? Number.NEGATIVE_INFINITY)
  await recordSkipped(tx, { task, projectId, ordinal: task.nextOrdinal, reason: 'paused', after, until })
}

async function goOn(
  tx: Queryable,
  { task, projectId, now }: { task: changes.LockedTask; projectId: string; now: number },
): Promise<number | null> {
  const { id: taskId, definition, version } = task
  const delayMs = chainDelay(definition)
  if (delayMs !== null) {
    const [active] = await tx.run(
      changes.continueChain({
        taskId,
        delayMs,
        lane: laneOf(projectId, definition).id,
        priority: definition.priority,
      }),
    )
    if (active) return null // the end of that run writes the next row
  }
  const ordinal = await nextOrdinal(tx, task)
  if (definition.maxRuns !== null && ordinal > definition.maxRuns) return null
  const [latest] = await tx.run(changes.latestOccurrence(taskId))
  const at = afterPause(definition, { now, latest: latest?.until ?? null })
  if (at === null) return null
  await writeNext(tx, { taskId, projectId, definition, version, at, ordinal, delayMs })
  return at
}

/** A one-off whose instant passed during the pause is over; a chain starts again now. */
function afterPause(
  definition: TaskDefinition,
  { now, latest }: { now: number; latest: number | null },
): number | null {
  if (definition.schedule.type === 'delay') return firstRow(definition, now)?.at ?? null
  return nextOccurrence(planOf(definition), Math.max(now, latest ?? now))
}
