/**
 * Pausing and resuming. A pause takes the next row away; what would have been due meanwhile is recorded
 * as skipped, up to the pause when it begins, and from there on when it ends or the task is edited. A task that waits for files is
 * paused too (file-waits.ts), until a user pauses it or the files are there. Tasks can also begin with a pause (paused-from-start.ts).
 */

import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { laneOf } from '../../core/run/lane.ts'
import { firstOccurrence, nextOccurrence, owedOfDelay } from '../../core/schedule/occurrences.ts'
import { instantMs, planOf, type TaskDefinition } from '../../core/task/task.ts'
import { utcOrNull } from '../../core/values/utc.ts'
import { settleTask } from '../../store/audit/audit.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { historyBeginOf } from '../../store/history/run-search.ts'
import { insertDuty, resumeDutyOf, sweepDuties } from '../../store/tasks/duties.ts'
import { type LockedTask, lockTask } from '../../store/tasks/locked-task.ts'
import { chainOf, continueChain, latestOccurrence } from '../../store/tasks/next-row.ts'
import {
  markPaused,
  markResumed,
  pauseWithProject,
  rewordPause,
  skipCatchUpRuns,
} from '../../store/tasks/pauses.ts'
import { insertSkip, markSkipped } from '../../store/tasks/skips.ts'
import { recordChange, taskSubject } from '../audit-log/record-change.ts'
import type { Context, Facilities } from '../context.ts'
import { chainDelay } from './define-task.ts'
import { onceAhead, onceHeld, writeOnce } from './once-ahead.ts'
import { performDuty } from './perform-duty.ts'
import { haltTask, lockLiving, nextOrdinal, recordDue, recordSkipped, writeAhead } from './settle.ts'
import { dropSkips } from './skip-next.ts'
import { refuseMissingFiles, waitOfStored } from './task-files.ts'

/** Options of a pause. */
export interface PauseOptions {
  /** The reason, shown with the task while it is paused. */
  readonly reason?: string | null | undefined
  /** The instant at which the task resumes by itself, as RFC 3339. */
  readonly until?: string | null | undefined
}

/** Options of a resume. */
export interface ResumeOptions {
  /** The reason, kept with the pause that it ends. */
  readonly reason?: string | null | undefined
}

/** Pauses a task, or changes the reason or the end of its pause. */
export async function pauseTask(context: Context, id: string, words: PauseOptions = {}): Promise<void> {
  const { db, projectId, clock, wakeUps } = context
  const until = words.until == null ? null : instantMs(words.until)
  if (until !== null && until <= clock.now()) throw inThePast()
  const said = { reason: words.reason ?? null, until }
  await withDeadlockRetry(db, async (tx) => {
    const locked = await lockLiving(tx, context, id)
    const task = await endOverdue(tx, locked, { projectId, now: clock.now() })
    const isPaused = task.pausedAt !== null && !task.awaitsFiles
    if (isPaused && Object.keys(words).length === 0) return
    await tx.run(sweepDuties(id, ['resume']))
    if (task.pausedAt === null) await dropSkips(tx, task, { projectId, now: clock.now() })
    if (until !== null)
      await tx.run(
        insertDuty({
          runId: uuidv7(),
          taskId: id,
          projectId,
          shard: shardOf(id),
          at: until,
          version: task.version,
          kind: 'resume',
        }),
      )
    const record = (pausedAt: number) =>
      recordChange(tx, context, {
        action: 'task.pause',
        subject: taskSubject(task),
        before: recordedPause(task),
        after: recordedPause({ pausedAt, resumeAt: until, pauseReason: said.reason }),
        reason: said.reason,
      })
    if (isPaused && task.pausedAt !== null) {
      await tx.run(rewordPause(id, said))
      return record(task.pausedAt)
    }
    if (task.awaitsFiles) {
      await recordPause(tx, { task, projectId, until: clock.now() })
      await tx.run(markResumed(id, null))
    }
    const swept = await haltTask(tx, id)
    // Removes catch-up runs that have not started: they are late already and should not wait for the end of the pause as well.
    // A scheduler may have been writing such rows until just now: sweeping the occurrence that they come from waited for it.
    await tx.run(skipCatchUpRuns(id))
    const ordinal = swept?.ordinal ?? (await nextOrdinal(tx, task))
    const [paused] = await tx.run(markPaused(id, ordinal, said))
    const pausedAt = paused?.pausedAt ?? Number.NEGATIVE_INFINITY
    await recordDue(tx, swept, { task, projectId, reason: 'paused', until: pausedAt })
    return record(pausedAt)
  })
  if (until !== null) wakeUps.announceDue([{ shard: shardOf(id), at: until }])
}

/** Returns a pause as entries of the audit log show it, under the names that a task has. */
const recordedPause = ({
  pausedAt,
  resumeAt,
  pauseReason,
}: Pick<LockedTask, 'pausedAt' | 'resumeAt' | 'pauseReason'>) => ({
  pausedAt: utcOrNull(pausedAt),
  resumeAt: utcOrNull(resumeAt),
  pauseReason,
})

function inThePast(): Refusal {
  const problems = [{ pointer: '/until', detail: 'must be in the future' }]
  return new Refusal('invalid_input', '/until must be in the future: it is when the task resumes.', {
    problems,
  })
}

export async function resumeTask(
  context: Context,
  id: string,
  { reason }: ResumeOptions = {},
): Promise<void> {
  const { db, clock, projectId, wakeUps } = context
  const dueAt = await withDeadlockRetry(db, async (tx) => {
    const task = await lockLiving(tx, context, id)
    if (task.pausedAt === null) return null
    if (task.awaitsFiles) await refuseMissingFiles(tx, projectId, task.definition.action)
    const ends = (await tx.run(sweepDuties(id, ['resume']))).map(({ at }) => at)
    const now = Math.min(Math.floor(clock.now()), ...ends)
    await recordChange(tx, context, {
      action: 'task.resume',
      subject: taskSubject(task),
      before: recordedPause(task),
      after: recordedPause({ pausedAt: null, resumeAt: null, pauseReason: null }),
      reason,
    })
    return endPause(tx, { task, projectId, now, reason: reason ?? null })
  })
  if (dueAt !== null) wakeUps.announceDue([{ shard: shardOf(id), at: dueAt }])
}

/**
 * Ends a pause at its set end. It ends at that instant even if no scheduler was running then: occurrences that came due since
 * were missed, and follow the misfire policy.
 */
export const endPauseOnTime = (facilities: Facilities, runId: string): Promise<void> =>
  performDuty(facilities, runId, async (tx, { task, projectId, at, isArchived }) => {
    if (task.pausedAt === null) return null
    if (!isArchived) return endPause(tx, { task, projectId, now: at, reason: null })
    await tx.run(pauseWithProject(task.id))
    return null
  })

/** Ends a pause whose set end has passed, even if no scheduler has ended it yet. Every change of a task does this first. */
export async function endOverdue(
  tx: Queryable,
  task: LockedTask,
  { projectId, now }: { projectId: string; now: number },
): Promise<LockedTask> {
  if (task.pausedAt === null || task.cancelledAt !== null) return task
  const [duty] = await tx.run(resumeDutyOf(task.id))
  if (!duty || duty.at > now) return task
  await tx.run(sweepDuties(task.id, ['resume']))
  await endPause(tx, { task, projectId, now: duty.at, reason: null })
  const [ended] = await tx.run(lockTask(projectId, task.id))
  return ended ?? task
}

interface PauseEnd {
  readonly task: LockedTask
  readonly projectId: string
  readonly now: number
  readonly reason: string | null
}

/**
 * Ends a pause; occurrences up to now are recorded as skipped. A task whose files are not there then waits for them. A one-off whose instant
 * has passed is settled: when the files come, its history may be gone.
 */
async function endPause(tx: Queryable, { task, projectId, now, reason }: PauseEnd): Promise<number | null> {
  if (task.awaitsFiles) return endWait(tx, { task, projectId, now })
  const held = await onceHeld(tx, task)
  if (held === null) await recordPause(tx, { task, projectId, until: now })
  await tx.run(markResumed(task.id, reason))
  if (task.skipUntil !== null && task.skipUntil <= now) await tx.run(markSkipped(task.id, null, null))
  const wait = await waitOfStored(tx, projectId, task.definition.action)
  if (wait === null && held !== null) return writeOnce(tx, { task, projectId, at: held, now })
  if (wait === null) return goOn(tx, { task, projectId, now })
  await tx.run(markPaused(task.id, task.nextOrdinal, { reason: wait, until: null, awaitsFiles: true }))
  const { definition } = task
  const isOver =
    held === null &&
    definition.schedule.type === 'once' &&
    afterPause(definition, { now, latest: null }) === null
  if (isOver) await tx.run(settleTask(task.id, task.nextOrdinal))
  return null
}

interface PausedStretch {
  readonly task: LockedTask
  readonly projectId: string
  readonly until: number
}

/** Records the occurrences since the pause began, or since the last such record, as skipped. */
export async function recordPause(tx: Queryable, { task, projectId, until }: PausedStretch): Promise<void> {
  const held = await onceHeld(tx, task)
  if (held !== null)
    return recordSkipped(tx, {
      task,
      projectId,
      ordinal: task.nextOrdinal,
      reason: 'paused',
      after: held - 1,
      until,
    })
  const [latest] = await tx.run(latestOccurrence(task.id))
  // A row that was fired slightly before its instant, just before the pause, was not skipped.
  const after = Math.max(task.updatedAt, latest?.until ?? Number.NEGATIVE_INFINITY)
  const ordinal = task.nextOrdinal
  if (task.awaitsFiles && task.definition.schedule.type === 'once') {
    const at = await onceAhead(tx, task)
    if (at !== null && at <= until)
      await recordSkipped(tx, { task, projectId, ordinal, reason: 'file_missing', after: at - 1, until: at })
    return
  }
  const reason = task.awaitsFiles ? 'file_missing' : 'paused'
  await recordSkipped(tx, { task, projectId, ordinal, reason, after, until })
}

/** Resumes a task that waited for files. A one-off whose instant has passed meanwhile runs now. */
export async function endWait(
  tx: Queryable,
  { task, projectId, now }: { task: LockedTask; projectId: string; now: number },
): Promise<number | null> {
  const { id: taskId, definition } = task
  const isOnce = definition.schedule.type === 'once'
  if (!isOnce) await recordPause(tx, { task, projectId, until: now })
  await tx.run(markResumed(taskId, null))
  if (task.skipUntil !== null && task.skipUntil <= now) await tx.run(markSkipped(taskId, null, null))
  if (!isOnce) return goOn(tx, { task, projectId, now })
  const at = await onceAhead(tx, task)
  return at === null ? null : writeOnce(tx, { task, projectId, at, now })
}

async function goOn(
  tx: Queryable,
  { task, projectId, now }: { task: LockedTask; projectId: string; now: number },
): Promise<number | null> {
  const { id: taskId, definition, version } = task
  const delayMs = chainDelay(definition)
  if (delayMs !== null) {
    const [active] = await tx.run(
      continueChain({
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
  const [latest] = await tx.run(latestOccurrence(taskId))
  const at = afterPause(definition, { now, latest: latest?.until ?? null })
  if (at === null) {
    if (delayMs !== null) await recordEndOfChain(tx, { task, projectId, ordinal })
    return null
  }
  const next = { taskId, projectId, definition, version, at, ordinal, delayMs }
  return writeAhead(tx, next, task.skipUntil)
}

/** Records the occurrence of a chain that its pause took away permanently, because its end passed meanwhile; none if it was over before. */
async function recordEndOfChain(
  tx: Queryable,
  { task, projectId, ordinal }: { task: LockedTask; projectId: string; ordinal: number },
): Promise<void> {
  const { id: taskId, version, definition, awaitsFiles } = task
  const [chain] = await tx.run(chainOf(taskId))
  const [begin] = await tx.run(historyBeginOf(projectId))
  // What ran before the history begins is not known any more, and must not be recorded as skipped.
  const createdAt = Math.max(chain?.createdAt ?? 0, begin?.at ?? 0)
  const at = chain ? owedOfDelay(planOf(definition), { ...chain, createdAt }) : null
  if (at === null) return
  const reason = awaitsFiles ? 'file_missing' : 'paused'
  const range = { first: at, last: at, count: 1 }
  await tx.run(insertSkip({ runId: uuidv7(), taskId, projectId, version, ordinal, reason, ...range }))
}

/**
 * Returns the next occurrence after a pause. A one-off whose instant passed during the pause has ended; a chain starts again
 * now, unless its end has passed.
 */
function afterPause(
  definition: TaskDefinition,
  { now, latest }: { now: number; latest: number | null },
): number | null {
  const plan = planOf(definition)
  if (plan.schedule.type === 'delay') return firstOccurrence(plan, now)
  return nextOccurrence(plan, Math.max(now, latest ?? now))
}
