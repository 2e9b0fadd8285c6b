/**
 * Editing. Rows that are not yet due are replaced by what the new definition says; one that is due keeps
 * its place and runs, and what follows it is the new definition's. So each occurrence belongs to exactly
 * one version, and none is lost between two.
 */

import { Refusal } from '../../core/errors.ts'
import { shardOf } from '../../core/ids.ts'
import { laneOf } from '../../core/lane.ts'
import { delayMs, firstOccurrence, nextOccurrence } from '../../core/schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../../core/task.ts'
import { changing } from '../../store/changing.ts'
import { type Queryable, violatedConstraint } from '../../store/database.ts'
import * as changes from '../../store/task-changes.ts'
import { type EditNote, insertEdit } from '../../store/task-versions.ts'
import type { ExpectedVersion } from '../request.ts'
import type { EditTask } from '../schemas/task.ts'
import type { Context } from './context.ts'
import { chainDelay, firstRow, redefineTask } from './define-task.ts'
import { recordPause } from './pause-task.ts'
import { keepLimits, limitsOf } from './project.ts'
import { haltTask, lockLiving, nextOrdinal, recordDue, writeAhead, writeNext } from './settle.ts'
import { dropSkips } from './skip-next.ts'

/** A change to a task, the version it was made from, and who makes it. */
export interface Edit {
  readonly id: string
  readonly edit: EditTask
  readonly expected: ExpectedVersion
  readonly by: string | null
}

export function editTask(context: Context, { id, edit, expected, by }: Edit): Promise<void> {
  const note = { by, reason: edit.reason ?? null, rollbackOf: null }
  return redefine(context, { id, expected, note }, async (task, now) => ({
    key: edit.key === undefined ? task.key : edit.key,
    name: edit.name === undefined ? task.name : edit.name,
    owner: edit.owner === undefined ? task.owner : edit.owner,
    tags: edit.tags === undefined ? task.tags : [...new Set(edit.tags)],
    definition: redefineTask(task.definition, edit, { now, seed: task.key ?? id }),
    isRetimed: changesTiming(edit),
  }))
}

/** What is to be redefined, from which version, and the note that goes with it. */
export interface Redefinition {
  readonly id: string
  readonly expected: ExpectedVersion
  readonly note: EditNote
}

/** A task as it shall be. */
export interface Redefined extends Omit<changes.TaskEdit, 'id'> {
  /** When it is due may have changed, and not only what it does. */
  readonly isRetimed: boolean
}

/** Makes a new version of a task, which holds from now on. */
export async function redefine(
  context: Context,
  { id, expected, note }: Redefinition,
  toBe: (task: changes.LockedTask, now: number, tx: Queryable) => Promise<Redefined>,
): Promise<void> {
  const { db, clock, projectId, wakeUps, lanes } = context
  const limits = await limitsOf(context)
  let key: string | null = null
  const work = changing(db, async (tx) => {
    const task = await lockLiving(tx, projectId, id)
    refuseOtherVersion(task.version, expected)
    const now = Math.floor(clock.now())
    const { isRetimed, ...redefined } = await toBe(task, now, tx)
    const { definition } = redefined
    key = redefined.key
    if (isRetimed) keepLimits(definition, limits, now)
    await lanes.ensure(db, [laneOf(projectId, definition)])
    const [replaced] = await tx.run(changes.replaceDefinition({ id, ...redefined }))
    await tx.run(insertEdit(id, note))
    const { version, updatedAt } = replaced as { version: number; updatedAt: number }
    if (task.pausedAt !== null) {
      await recordPause(tx, { task, projectId, until: updatedAt })
      await tx.run(changes.endVersion({ taskId: id, version: task.version, until: updatedAt }))
      return []
    }
    const change = { task, definition, version, projectId, now }
    return isRetimed ? reschedule(tx, change) : carryOver(tx, change)
  })
  const due = await work.catch((error: unknown) => {
    if (violatedConstraint(error) === 'task_by_key') throw keyInUse(key ?? '')
    throw error
  })
  const shard = shardOf(id)
  wakeUps.announceDue(due.map((at) => ({ shard, at })))
}

function refuseOtherVersion(version: number, expected: ExpectedVersion): void {
  if (expected === null || expected === 'any' || expected === version) return
  throw new Refusal(
    'version_mismatch',
    `The task is at version ${version}, not ${expected}. Read it again and repeat the change.`,
    { extra: { currentVersion: version } },
  )
}

function keyInUse(key: string): Refusal {
  const problems = [{ pointer: '/key', detail: 'names another task' }]
  return new Refusal('key_in_use', `The key '${key}' names another task.`, { problems })
}

const TIMING = ['schedule', 'startAt', 'endAt', 'maxRuns'] as const
const changesTiming = (edit: EditTask) => TIMING.some((field) => edit[field] !== undefined)

interface Change {
  readonly task: changes.LockedTask
  readonly definition: TaskDefinition
  readonly version: number
  readonly projectId: string
  readonly now: number
}

/** Keeps when the task is due; only what it does has changed. Answers when rows are due that were written. */
async function carryOver(tx: Queryable, change: Change): Promise<number[]> {
  const { task, definition, version, projectId } = change
  const swept = await haltTask(tx, task.id)
  const delayMs = chainDelay(definition)
  if (swept === null) {
    await continueChain(tx, change)
    return []
  }
  const { scheduledFor: at, ordinal } = swept
  await tx.run(changes.endVersion({ taskId: task.id, version: task.version, until: at - 1 }))
  await writeNext(tx, { taskId: task.id, projectId, definition, version, at, ordinal, delayMs })
  return [at]
}

/** Goes on as the new definition says. Answers when rows are due that were written. */
async function reschedule(tx: Queryable, change: Change): Promise<number[]> {
  const { task, definition, version, projectId, now } = change
  const swept = await haltTask(tx, task.id)
  const delayMs = chainDelay(definition)
  const ordinal = swept?.ordinal ?? (await nextOrdinal(tx, task))
  const row = { taskId: task.id, projectId, definition, version, ordinal, delayMs }
  const isDue = swept !== null && swept.scheduledFor <= now
  const isOver = definition.maxRuns !== null && ordinal > definition.maxRuns
  const until = isDue && !isOver ? swept.scheduledFor : await passedUntil(tx, change)
  await tx.run(changes.endVersion({ taskId: task.id, version: task.version, until }))
  if (isOver) {
    await recordDue(tx, swept, { task, projectId, reason: 'bounds', until: now })
    return []
  }
  if (isDue && definition.schedule.type !== 'once') {
    await writeNext(tx, { ...row, at: swept.scheduledFor })
    return [swept.scheduledFor]
  }
  const written: number[] = []
  if (isDue) {
    await writeNext(tx, { ...row, at: swept.scheduledFor, kind: 'catchup' })
    written.push(swept.scheduledFor)
  }
  if (!isDue && (await continueChain(tx, change))) return []
  const at = await nextAt(tx, change, swept)
  await dropSkips(tx, task, { projectId, now })
  if (at !== null && !written.includes(at)) written.push(await writeAhead(tx, { ...row, at }, task.skipUntil))
  return written
}

/** How far the schedule before has come: up to now, or to a row that was fired a moment ahead. */
async function passedUntil(tx: Queryable, { task, now }: Pick<Change, 'task' | 'now'>): Promise<number> {
  const [latest] = await tx.run(changes.latestOccurrence(task.id))
  return Math.max(now, latest?.until ?? now)
}

/** Lets the end of an active run write the next row, if the task is such and has one. */
async function continueChain(tx: Queryable, { task, definition, projectId }: Change): Promise<boolean> {
  const delayMs = chainDelay(definition)
  if (delayMs === null) return false
  const lane = laneOf(projectId, definition).id
  const { priority } = definition
  return (await tx.run(changes.continueChain({ taskId: task.id, delayMs, lane, priority }))).length > 0
}

/** The first occurrence of the new definition that was none before. */
async function nextAt(
  tx: Queryable,
  { task, definition, now }: Change,
  swept: changes.SweptRow | null,
): Promise<number | null> {
  const plan = planOf(definition)
  switch (definition.schedule.type) {
    case 'manual':
      return null
    case 'once': {
      const at = firstOccurrence(plan, now)
      const [known] = at === null ? [] : await tx.run(changes.hasOccurrence(task.id, at))
      return known?.exists ? null : (firstRow(definition, now)?.at ?? null)
    }
    case 'delay':
      return nextOfChain(task.definition, definition, { now, swept })
    default:
      return nextOccurrence(plan, await passedUntil(tx, { task, now }))
  }
}

/** A chain that waits goes on counting from the end of its last run; any other begins anew. */
function nextOfChain(
  before: TaskDefinition,
  after: TaskDefinition,
  { now, swept }: { now: number; swept: changes.SweptRow | null },
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
