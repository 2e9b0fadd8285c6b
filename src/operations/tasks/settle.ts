/**
 * What every change to a task has in common; store/tasks/locked-task.ts explains how a change and the firing of an
 * occurrence at the same time affect each other.
 */
import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { laneOf } from '../../core/run/lane.ts'
import type { SkipReason } from '../../core/run/run.ts'
import {
  countSteps,
  jitterOf,
  MAX_COUNTED,
  nextOccurrence,
  nextOfDelay,
} from '../../core/schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import type { Steps } from '../../core/values/steps.ts'
import { inTurns } from '../../runtime/turns.ts'
import type { Queryable } from '../../store/database/database.ts'
import { insertDuty } from '../../store/tasks/duties.ts'
import { type LockedTask, lockTask } from '../../store/tasks/locked-task.ts'
import {
  countLoose,
  endChains,
  insertNext,
  latestOccurrence,
  type SweptRow,
  sweepScheduled,
} from '../../store/tasks/next-row.ts'
import { insertSkip, markSkipped } from '../../store/tasks/skips.ts'
import { requireQueueOf } from '../access/require.ts'
import type { Context } from '../context.ts'
import { notFound } from './read-tasks.ts'

/** The caller that changes a task, with its project. */
type Changer = Pick<Context, 'projectId' | 'reach'>

/** Locks and returns the task; throws if it has ended. */
export async function lockLiving(tx: Queryable, changer: Changer, id: string): Promise<LockedTask> {
  const task = await lockOwn(tx, changer, id)
  refuseEnded(task)
  return task
}

/** Locks and returns the task; throws if the caller may not change it. */
export async function lockOwn(tx: Queryable, changer: Changer, id: string): Promise<LockedTask> {
  const [task] = await tx.run(lockTask(changer.projectId, id))
  if (!task) return notFound(id)
  requireQueueOf(changer, task.definition)
  return task
}

/** Rejects changes of a cancelled task: cancelling is final. */
export function refuseEnded({ id, cancelledAt }: { id: string; cancelledAt: number | null }): void {
  if (cancelledAt === null) return
  throw new Refusal('task_ended', `Task ${id} was cancelled, which is final. Delete it to release its key.`)
}

/** A fire in progress may write one more row after a sweep; more sweeps than a few are hardly ever needed. */
const MAX_SWEEPS = 50

/** Removes all rows with which the task would continue, and returns its next row; null if it had none. */
export async function haltTask(tx: Queryable, taskId: string): Promise<SweptRow | null> {
  let latest: SweptRow | null = null
  for (let i = 0; i < MAX_SWEEPS; i++) {
    for (const row of await tx.run(sweepScheduled(taskId)))
      if (latest === null || row.scheduledFor > latest.scheduledFor) latest = row
    await tx.run(endChains(taskId))
    const [loose] = await tx.run(countLoose(taskId))
    if (loose?.count === 0) return latest
  }
  throw new Error(`the waiting rows of task ${taskId} did not settle in ${MAX_SWEEPS} sweeps`)
}

/** Returns the ordinal of the next occurrence if no row states it. */
export async function nextOrdinal(tx: Queryable, task: LockedTask): Promise<number> {
  const [latest] = await tx.run(latestOccurrence(task.id))
  return Math.max(task.nextOrdinal, latest?.nextOrdinal ?? 1)
}

/** The data of a task's next occurrence. */
export interface NextOccurrence {
  readonly taskId: string
  readonly projectId: string
  readonly definition: TaskDefinition
  readonly version: number
  readonly at: number
  readonly ordinal: number
  readonly delayMs: number | null
  readonly kind?: 'occurrence' | 'catchup'
  /** The delay of the occurrence; default: the jitter of the definition. */
  readonly jitterMs?: number
}

/** Writes the task's next row. It is always a new row, because schedulers may have read the old one already. */
export async function writeNext(tx: Queryable, next: NextOccurrence): Promise<void> {
  const { definition, ...row } = next
  const jitterMs = row.jitterMs ?? jitterOf(planOf(definition), row.at)
  await tx.run(
    insertNext({
      kind: 'occurrence',
      ...row,
      runId: uuidv7(),
      shard: shardOf(row.taskId),
      lane: laneOf(row.projectId, definition).id,
      priority: definition.priority,
      jitterMs: jitterMs === 0 ? null : jitterMs,
    }),
  )
}

/** Returns the occurrence that follows one that does not run. */
export function instantAfter(definition: TaskDefinition, at: number): number | null {
  const plan = planOf(definition)
  return plan.schedule.type === 'delay' ? nextOfDelay(plan, at) : nextOccurrence(plan, at)
}

/** The occurrences between two instants, both included. */
export interface Passed {
  readonly last: number
  readonly count: number
  /** The first occurrence after them. */
  readonly next: number | null
}

/** Walks over the occurrences from one on up to an instant, at most `most` of them. */
export function* passUntil(
  definition: TaskDefinition,
  first: number,
  until: number,
  most = Number.POSITIVE_INFINITY,
): Steps<Passed> {
  let [last, count, next] = [first, 1, instantAfter(definition, first)]
  while (next !== null && next <= until && count < most) {
    last = next
    count += 1
    next = instantAfter(definition, next)
    yield
  }
  return { last, count, next }
}

/**
 * Writes the task's next row: the next occurrence or, if a user asked to skip up to an instant, a row that records the skips on
 * time and the first occurrence after that instant. Returns when the first of these is due.
 */
export async function writeAhead(
  tx: Queryable,
  next: NextOccurrence,
  skipUntil: number | null,
): Promise<number> {
  const { taskId, projectId, definition, version, at } = next
  if (skipUntil === null || at > skipUntil) {
    if (skipUntil !== null) await tx.run(markSkipped(taskId, null, null))
    await writeNext(tx, next)
    return at
  }
  const { next: after } = await inTurns(passUntil(definition, at, skipUntil))
  const shard = shardOf(taskId)
  await tx.run(insertDuty({ runId: uuidv7(), taskId, projectId, shard, at, version, kind: 'skip' }))
  if (after !== null) await writeNext(tx, { ...next, at: after })
  return at
}

/** A period during which no occurrence of a task ran. */
export interface Stretch {
  readonly task: LockedTask
  readonly projectId: string
  readonly ordinal: number
  readonly reason: SkipReason
  /** The period excludes `after` and includes `until`. */
  readonly after: number
  readonly until: number
}

/** Records the occurrences of a period that did not run, as one skip for all of them. */
export async function recordSkipped(tx: Queryable, stretch: Stretch): Promise<void> {
  const { task, after, until } = stretch
  const passed = await inTurns(countSteps(planOf(task.definition), after, until, MAX_COUNTED))
  if (passed.first === null || passed.last === null) return
  await recordRange(tx, stretch, {
    first: passed.first,
    last: passed.atLeast ? until : passed.last,
    count: passed.atLeast ? null : passed.count,
  })
}

/** Records a row that was removed although it was due, together with all occurrences that have come due since. */
export async function recordDue(
  tx: Queryable,
  swept: SweptRow | null,
  stretch: Omit<Stretch, 'after' | 'ordinal'>,
): Promise<void> {
  if (swept === null || swept.scheduledFor > stretch.until) return
  const { scheduledFor: first, ordinal } = swept
  const plan = planOf(stretch.task.definition)
  const later = await inTurns(countSteps(plan, first, stretch.until, MAX_COUNTED))
  await recordRange(
    tx,
    { ...stretch, ordinal },
    {
      first,
      last: later.atLeast ? stretch.until : (later.last ?? first),
      count: later.atLeast ? null : later.count + 1,
    },
  )
}

async function recordRange(
  tx: Queryable,
  { task, projectId, ordinal, reason }: Omit<Stretch, 'after' | 'until'>,
  range: { first: number; last: number; count: number | null },
): Promise<void> {
  const { id: taskId, version } = task
  await tx.run(insertSkip({ runId: uuidv7(), taskId, projectId, version, ordinal, reason, ...range }))
}
