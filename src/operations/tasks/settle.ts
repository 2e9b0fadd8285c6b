/** What every change to a task has in common; store/tasks/task-statements.ts says how it meets a fire. */
import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { laneOf } from '../../core/run/lane.ts'
import type { SkipReason } from '../../core/run/run.ts'
import {
  countSteps,
  delayMs,
  jitterOf,
  MAX_COUNTED,
  nextOccurrence,
} from '../../core/schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import type { Steps } from '../../core/values/steps.ts'
import { inTurns } from '../../runtime/turns.ts'
import type { Queryable } from '../../store/database/database.ts'
import * as changes from '../../store/tasks/task-statements.ts'
import { requireQueueOf } from '../access/require.ts'
import type { Context } from '../context.ts'
import { notFound } from './read-tasks.ts'

/** Who changes a task, and where it is. */
type Changer = Pick<Context, 'projectId' | 'reach'>

/** The task, locked, if it can still change. */
export async function lockLiving(tx: Queryable, changer: Changer, id: string): Promise<changes.LockedTask> {
  const task = await lockOwn(tx, changer, id)
  refuseEnded(task)
  return task
}

/** The task, locked, if the caller may change it. */
export async function lockOwn(tx: Queryable, changer: Changer, id: string): Promise<changes.LockedTask> {
  const [task] = await tx.run(changes.lockTask(changer.projectId, id))
  if (!task) return notFound(id)
  requireQueueOf(changer, task.definition)
  return task
}

/** What was cancelled stays so. */
export function refuseEnded({ id, cancelledAt }: { id: string; cancelledAt: number | null }): void {
  if (cancelledAt === null) return
  throw new Refusal('task_ended', `Task ${id} was cancelled, which is final. Delete it to release its key.`)
}

/** A fire that is under way may write one more row behind the sweep's back, hardly ever more. */
const MAX_SWEEPS = 50

/** Takes back everything by which the task would go on, and answers the row it was waiting for. */
export async function haltTask(tx: Queryable, taskId: string): Promise<changes.SweptRow | null> {
  let latest: changes.SweptRow | null = null
  for (let i = 0; i < MAX_SWEEPS; i++) {
    for (const row of await tx.run(changes.sweepScheduled(taskId)))
      if (latest === null || row.scheduledFor > latest.scheduledFor) latest = row
    await tx.run(changes.endChains(taskId))
    const [loose] = await tx.run(changes.countLoose(taskId))
    if (loose?.count === 0) return latest
  }
  throw new Error(`the waiting rows of task ${taskId} did not settle in ${MAX_SWEEPS} sweeps`)
}

/** What the next occurrence counts as when there is no row that says so. */
export async function nextOrdinal(tx: Queryable, task: changes.LockedTask): Promise<number> {
  const [latest] = await tx.run(changes.latestOccurrence(task.id))
  return Math.max(task.nextOrdinal, latest?.nextOrdinal ?? 1)
}

/** What the next occurrence of a task follows from. */
export interface NextOccurrence {
  readonly taskId: string
  readonly projectId: string
  readonly definition: TaskDefinition
  readonly version: number
  readonly at: number
  readonly ordinal: number
  readonly delayMs: number | null
  readonly kind?: 'occurrence' | 'catchup'
  /** By how much it is put off, where that is not for the definition to say. */
  readonly jitterMs?: number
}

/** Writes the row that the task goes on with. It is always a new one: schedulers may know the old one by heart. */
export async function writeNext(tx: Queryable, next: NextOccurrence): Promise<void> {
  const { definition, ...row } = next
  const jitterMs = row.jitterMs ?? jitterOf(planOf(definition), row.at)
  await tx.run(
    changes.insertNext({
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

/** What follows an occurrence that does not run, seen from it. */
export function instantAfter(definition: TaskDefinition, at: number): number | null {
  const { schedule } = definition
  const plan = planOf(definition)
  if (schedule.type !== 'delay') return nextOccurrence(plan, at)
  const next = at + delayMs(schedule)
  return plan.endAt !== null && next > plan.endAt ? null : next
}

/** What lies between an occurrence and an instant, both included. */
export interface Passed {
  readonly last: number
  readonly count: number
  /** The first occurrence after it. */
  readonly next: number | null
}

/** Passes over all occurrences from one on up to an instant, and no more than so many. */
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
 * Writes what the task goes on with: the next occurrence, or, when a user said to skip up to an instant, a row
 * that skips on time and the first occurrence after that. Answers when something is due.
 */
export async function writeAhead(
  tx: Queryable,
  next: NextOccurrence,
  skipUntil: number | null,
): Promise<number> {
  const { taskId, projectId, definition, version, at } = next
  if (skipUntil === null || at > skipUntil) {
    if (skipUntil !== null) await tx.run(changes.markSkipped(taskId, null, null))
    await writeNext(tx, next)
    return at
  }
  const { next: after } = await inTurns(passUntil(definition, at, skipUntil))
  const shard = shardOf(taskId)
  await tx.run(changes.insertDuty({ runId: uuidv7(), taskId, projectId, shard, at, version, kind: 'skip' }))
  if (after !== null) await writeNext(tx, { ...next, at: after })
  return at
}

/** A stretch of time during which nothing of a task ran. */
export interface Stretch {
  readonly task: changes.LockedTask
  readonly projectId: string
  readonly ordinal: number
  readonly reason: SkipReason
  /** The stretch, without its beginning and with its end. */
  readonly after: number
  readonly until: number
}

/** Records the occurrences in a stretch of time that did not run, as one skip that speaks for them all. */
export async function recordSkipped(tx: Queryable, stretch: Stretch): Promise<void> {
  const { task, after, until } = stretch
  const passed = await inTurns(countSteps(planOf(task.definition), after, until, MAX_COUNTED))
  if (passed.first === null || passed.last === null) return
  await insertSkip(tx, stretch, {
    first: passed.first,
    last: passed.atLeast ? until : passed.last,
    count: passed.atLeast ? null : passed.count,
  })
}

/** Records a row that was taken back although it was due, and whatever else has come due since. */
export async function recordDue(
  tx: Queryable,
  swept: changes.SweptRow | null,
  stretch: Omit<Stretch, 'after' | 'ordinal'>,
): Promise<void> {
  if (swept === null || swept.scheduledFor > stretch.until) return
  const { scheduledFor: first, ordinal } = swept
  const plan = planOf(stretch.task.definition)
  const later = await inTurns(countSteps(plan, first, stretch.until, MAX_COUNTED))
  await insertSkip(
    tx,
    { ...stretch, ordinal },
    {
      first,
      last: later.atLeast ? stretch.until : (later.last ?? first),
      count: later.atLeast ? null : later.count + 1,
    },
  )
}

async function insertSkip(
  tx: Queryable,
  { task, projectId, ordinal, reason }: Omit<Stretch, 'after' | 'until'>,
  range: { first: number; last: number; count: number | null },
): Promise<void> {
  const { id: taskId, version } = task
  await tx.run(changes.insertSkip({ runId: uuidv7(), taskId, projectId, version, ordinal, reason, ...range }))
}
