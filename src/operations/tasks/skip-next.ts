/**
 * Skips the next occurrences of a task. Which ones is decided at the time of the request: all up to an instant, so that neither
 * a pause nor an edit changes which they are. A separate row comes due at each of them and records the skip; the task's next
 * row is the occurrence after them. Until then the request can be undone.
 */

import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { utc, utcOrNull } from '../../core/values/utc.ts'
import { inTurns } from '../../runtime/turns.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { insertDuty, sweepDuties } from '../../store/tasks/duties.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import { insertSkip, markSkipped } from '../../store/tasks/skips.ts'
import { recordChange, taskSubject } from '../audit-log/record-change.ts'
import type { Context, Facilities } from '../context.ts'
import { chainDelay } from './define-task.ts'
import { performDuty } from './perform-duty.ts'
import { haltTask, instantAfter, lockLiving, nextOrdinal, passUntil, writeAhead } from './settle.ts'

/** Which occurrences to skip. */
export interface SkipOptions {
  /** How many of the next occurrences; default: 1. */
  readonly count?: number | undefined
  /** The reason, shown with the task meanwhile. */
  readonly reason?: string | null | undefined
}

/** Skips the next occurrences of a task; another request replaces the earlier one. */
export async function skipNext(context: Context, id: string, wish: SkipOptions): Promise<void> {
  const { db, projectId, wakeUps, clock } = context
  const at = await withDeadlockRetry(db, async (tx) => {
    const task = await lockLiving(tx, context, id)
    const next = await takeNext(tx, task, projectId, clock.now())
    if (next === null) throw nothingAhead(task)
    const { last: until } = await inTurns(
      passUntil(task.definition, next.at, Number.POSITIVE_INFINITY, wish.count ?? 1),
    )
    await tx.run(markSkipped(id, until, wish.reason ?? null))
    await recordChange(tx, context, {
      action: 'task.skip_next',
      subject: taskSubject(task),
      before: { skipUntil: utcOrNull(task.skipUntil) },
      after: { skipUntil: utc(until), count: wish.count ?? 1 },
      reason: wish.reason,
    })
    return writeAhead(tx, next, until)
  })
  wakeUps.announceDue([{ shard: shardOf(id), at }])
}

/** Undoes a skip for those occurrences that were not skipped yet. */
export async function unskipNext(context: Context, id: string): Promise<void> {
  const { db, projectId, wakeUps, clock } = context
  const at = await withDeadlockRetry(db, async (tx) => {
    const task = await lockLiving(tx, context, id)
    if (task.skipUntil === null) return null
    await tx.run(markSkipped(id, null, null))
    await recordChange(tx, context, {
      action: 'task.unskip_next',
      subject: taskSubject(task),
      before: { skipUntil: utc(task.skipUntil) },
      after: { skipUntil: null },
    })
    if (task.pausedAt !== null) return null
    const next = await takeNext(tx, task, projectId, clock.now())
    return next && writeAhead(tx, next, null)
  })
  if (at !== null) wakeUps.announceDue([{ shard: shardOf(id), at }])
}

/** Removes the future rows of a task; returns the earliest as the one to continue with. */
async function takeNext(tx: Queryable, task: LockedTask, projectId: string, now: number) {
  if (task.pausedAt !== null) return null
  const { id: taskId, definition, version } = task
  const skip = await dropSkips(tx, task, { projectId, now })
  const swept = await haltTask(tx, taskId)
  const at = Math.min(skip ?? Number.POSITIVE_INFINITY, swept?.scheduledFor ?? Number.POSITIVE_INFINITY)
  if (!Number.isFinite(at)) return null
  const ordinal = swept?.ordinal ?? (await nextOrdinal(tx, task))
  return { taskId, projectId, definition, version, at, ordinal, delayMs: chainDelay(definition) }
}

/**
 * Removes the row that skips. Occurrences to skip that have come due are recorded as skipped, even if no scheduler has handled
 * them yet; returns the next one of the others, or null.
 */
export async function dropSkips(
  tx: Queryable,
  task: LockedTask,
  { projectId, now }: { projectId: string; now: number },
): Promise<number | null> {
  const { skipUntil, definition } = task
  if (skipUntil === null) return null
  const duties = await tx.run(sweepDuties(task.id, ['skip']))
  const first = Math.min(...duties.map(({ at }) => at))
  if (!Number.isFinite(first)) return null
  if (first > now) return first
  const { last, count, next } = await inTurns(passUntil(definition, first, Math.min(now, skipUntil)))
  await recordSkip(tx, task, { projectId, first, last, count })
  if (next !== null && next <= skipUntil) return next
  await tx.run(markSkipped(task.id, null, null))
  return null
}

/** Records an occurrence as skipped when it comes due, and continues with the next one. */
export const skipOnTime = (facilities: Facilities, runId: string): Promise<void> =>
  performDuty(facilities, runId, async (tx, { task, projectId, at }) => {
    await recordSkip(tx, task, { projectId, first: at, last: at, count: 1 })
    const next = instantAfter(task.definition, at)
    if (next === null || task.skipUntil === null || next > task.skipUntil) {
      await tx.run(markSkipped(task.id, null, null))
      return null
    }
    const { id: taskId, version } = task
    const shard = shardOf(taskId)
    await tx.run(insertDuty({ runId: uuidv7(), taskId, projectId, shard, at: next, version, kind: 'skip' }))
    return next
  })

async function recordSkip(
  tx: Queryable,
  task: LockedTask,
  skipped: { projectId: string; first: number; last: number; count: number },
): Promise<void> {
  const { id: taskId, version } = task
  const ordinal = await nextOrdinal(tx, task)
  await tx.run(insertSkip({ runId: uuidv7(), taskId, version, ordinal, reason: 'skip_next', ...skipped }))
}

function nothingAhead({ id, pausedAt, definition }: LockedTask): Refusal {
  const why =
    pausedAt !== null
      ? 'it is paused; resume it first'
      : definition.schedule.type === 'delay'
        ? 'its next occurrence is not known until its current run ends'
        : 'it has no upcoming occurrence'
  return new Refusal('nothing_ahead', `Task ${id} has no occurrence to skip: ${why}.`)
}
