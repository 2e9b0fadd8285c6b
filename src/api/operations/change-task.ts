/**
 * Editing, pausing, resuming, cancelling and deleting. Each is one transaction that locks the task first,
 * so that changes to one task follow one another, and then settles with its rows in the agenda, which a
 * scheduler may be firing at this very moment: see store/task-changes.ts.
 */
import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { laneOf } from '../../core/lane.ts'
import { countOccurrences, nextOccurrence } from '../../core/schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../../core/task.ts'
import { type Queryable, violatedConstraint } from '../../store/database.ts'
import * as changes from '../../store/task-changes.ts'
import type { EditTask } from '../schemas/task.ts'
import type { Context } from './context.ts'
import { chainDelay, firstRow, redefineTask } from './define-task.ts'
import { notFound } from './read-tasks.ts'

/** A fire that is under way may write one more row behind the sweep's back, hardly ever more. */
const MAX_SWEEPS = 50
/** More skipped occurrences than this are not counted one by one. */
const MAX_COUNTED = 10_000

export async function editTask(
  context: Context,
  id: string,
  edit: EditTask,
  expectedVersion: number | null,
): Promise<void> {
  const { db, clock, projectId, wakeUps } = context
  const now = Math.floor(clock.now())
  const dueAt = await db
    .transaction(async (tx) => {
      const task = await lockLiving(tx, projectId, id)
      if (expectedVersion !== null && expectedVersion !== task.version) {
        throw new Refusal(
          'version_mismatch',
          `The task is at version ${task.version}, not ${expectedVersion}. Read it again and repeat the change.`,
          {
            extra: { currentVersion: task.version },
          },
        )
      }
      const definition = redefineTask(task.definition, edit, now)
      const [replaced] = await tx.run(
        changes.replaceDefinition({
          id,
          key: edit.key === undefined ? task.key : edit.key,
          name: edit.name === undefined ? task.name : edit.name,
          owner: edit.owner === undefined ? task.owner : edit.owner,
          tags: edit.tags === undefined ? task.tags : [...new Set(edit.tags)],
          definition,
        }),
      )
      const version = replaced?.version ?? task.version
      if (task.pausedAt !== null) return null
      if (!changesTiming(edit)) {
        await sweep(tx, id, version, () => changes.adoptScheduled(id, { version, lane: laneOf(definition) }))
        return null
      }
      return reschedule(tx, { task, definition, version, projectId, now })
    })
    .catch((error: unknown) => {
      if (violatedConstraint(error) === 'task_by_key')
        throw new Refusal('key_in_use', `The key '${edit.key}' names another task.`)
      throw error
    })
  if (dueAt !== null) wakeUps.announceDue([{ shard: shardOf(id), at: dueAt }])
}

const TIMING = ['schedule', 'startAt', 'endAt', 'maxRuns'] as const
const changesTiming = (edit: EditTask) => TIMING.some((field) => edit[field] !== undefined)

interface Reschedule {
  readonly task: changes.LockedTask
  readonly definition: TaskDefinition
  readonly version: number
  readonly projectId: string
  readonly now: number
}

/** Replaces the rows that are not yet due by the first one of the new definition. */
async function reschedule(
  tx: Queryable,
  { task, definition, version, projectId, now }: Reschedule,
): Promise<number | null> {
  const swept = await sweep(tx, task.id, version, () => changes.sweepScheduled(task.id))
  const delayMs = chainDelay(definition)
  const active = await tx.run(changes.setDelay(task.id, delayMs))
  if (delayMs !== null && active.length > 0) return null // the end of that run writes the next row
  const [latest] = await tx.run(changes.latestOccurrence(task.id))
  const ordinal = swept[0]?.ordinal ?? (await nextOrdinal(tx, task, latest?.ordinal ?? null))
  if (definition.maxRuns !== null && ordinal > definition.maxRuns) return null
  const at = nextAfter(definition, { now, latest: latest?.scheduledFor ?? null })
  if (at === null) return null
  await tx.run(
    changes.insertNext({
      runId: uuidv7(),
      taskId: task.id,
      lane: laneOf(definition),
      projectId,
      shard: shardOf(task.id),
      at,
      version,
      ordinal,
      delayMs,
    }),
  )
  return at
}

/** The first occurrence after now and after every one that is already on its way. */
function nextAfter(
  definition: TaskDefinition,
  { now, latest }: { now: number; latest: number | null },
): number | null {
  const { schedule } = definition
  if (schedule.type === 'manual') return null
  if (schedule.type === 'delay' || schedule.type === 'once') return firstRow(definition, now)?.at ?? null
  return nextOccurrence(planOf(definition), Math.max(now, latest ?? 0))
}

async function nextOrdinal(tx: Queryable, task: changes.LockedTask, active: number | null): Promise<number> {
  if (active !== null) return active + 1
  const [ended] = await tx.run(changes.latestEndedOrdinal(task.id))
  return Math.max(task.nextOrdinal, (ended?.ordinal ?? 0) + 1)
}

export async function pauseTask({ db, projectId }: Context, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const task = await lockLiving(tx, projectId, id)
    if (task.pausedAt !== null) return
    const swept = await sweep(tx, id, task.version + 1, () => changes.sweepScheduled(id))
    const active = await tx.run(changes.setDelay(id, null))
    const ordinal = swept[0]?.ordinal ?? (await nextOrdinal(tx, task, active[0]?.ordinal ?? null))
    await tx.run(changes.markPaused(id, ordinal))
  })
}

/** Records what was passed over during the pause as one skip, and goes on with the next occurrence. */
export async function resumeTask({ db, clock, projectId, wakeUps }: Context, id: string): Promise<void> {
  const now = Math.floor(clock.now())
  const dueAt = await db.transaction(async (tx) => {
    const task = await lockLiving(tx, projectId, id)
    if (task.pausedAt === null) return null
    await tx.run(changes.markResumed(id))
    const [latest] = await tx.run(changes.latestOccurrence(id))
    await recordPause(tx, { task, projectId, from: Math.max(task.pausedAt, latest?.scheduledFor ?? 0), now })
    const delayMs = chainDelay(task.definition)
    if (delayMs !== null && (await tx.run(changes.setDelay(id, delayMs))).length > 0) return null
    if (task.definition.maxRuns !== null && task.nextOrdinal > task.definition.maxRuns) return null
    const at = afterPause(task.definition, { now, latest: latest?.scheduledFor ?? null })
    if (at === null) return null
    const { nextOrdinal: ordinal, version } = task
    await tx.run(
      changes.insertNext({
        runId: uuidv7(),
        taskId: id,
        lane: laneOf(task.definition),
        projectId,
        shard: shardOf(id),
        at,
        version,
        ordinal,
        delayMs,
      }),
    )
    return at
  })
  if (dueAt !== null) wakeUps.announceDue([{ shard: shardOf(id), at: dueAt }])
}

/** A one-off whose instant passed during the pause is over; a chain starts again now. */
function afterPause(
  definition: TaskDefinition,
  { now, latest }: { now: number; latest: number | null },
): number | null {
  const { schedule } = definition
  if (schedule.type === 'manual') return null
  if (schedule.type === 'delay') return firstRow(definition, now)?.at ?? null
  return nextOccurrence(planOf(definition), Math.max(now, latest ?? 0))
}

interface PausedStretch {
  readonly task: changes.LockedTask
  readonly projectId: string
  readonly from: number
  readonly now: number
}

async function recordPause(tx: Queryable, { task, projectId, from, now }: PausedStretch): Promise<void> {
  const { count, first, last, atLeast } = countOccurrences(planOf(task.definition), from, now, MAX_COUNTED)
  if (first === null || last === null) return
  await tx.run(
    changes.insertSkip({
      runId: uuidv7(),
      taskId: task.id,
      projectId,
      version: task.version,
      first,
      last: atLeast ? now : last,
      count: atLeast ? null : count,
      reason: 'paused',
    }),
  )
}

/** Ends the task: nothing more is due, what waits is cancelled, what runs is told to stop. */
export async function endTask(
  { db, projectId, wakeUps }: Context,
  id: string,
  how: 'cancel' | 'delete',
): Promise<void> {
  await db.transaction(async (tx) => {
    const [task] = await tx.run(changes.lockTask(projectId, id))
    if (!task) return notFound(id)
    await tx.run(how === 'cancel' ? changes.markCancelled(id) : changes.markDeleted(id))
    await sweep(tx, id, task.version + 1, () => changes.sweepScheduled(id))
    await tx.run(changes.cancelRuns({ taskId: id, runId: null, heirId: uuidv7() }))
  })
  wakeUps.announceCancel()
}

async function lockLiving(tx: Queryable, projectId: string, id: string): Promise<changes.LockedTask> {
  const [task] = await tx.run(changes.lockTask(projectId, id))
  if (!task) return notFound(id)
  if (task.cancelledAt !== null)
    throw new Refusal('task_ended', `Task ${id} was cancelled. Create a new one.`)
  return task
}

/** Repeats a statement over the task's waiting rows until it leaves none of before `version`. */
async function sweep(
  tx: Queryable,
  taskId: string,
  version: number,
  statement: () => ReturnType<typeof changes.sweepScheduled>,
): Promise<changes.SweptRow[]> {
  const swept: changes.SweptRow[] = []
  for (let i = 0; i < MAX_SWEEPS; i++) {
    swept.push(...(await tx.run(statement())))
    const [left] = await tx.run(changes.countScheduled(taskId, version))
    if ((left?.count ?? 0) === 0) return swept.sort((a, b) => b.ordinal - a.ordinal)
  }
  throw new Error(`the waiting rows of task ${taskId} did not settle in ${MAX_SWEEPS} sweeps`)
}
