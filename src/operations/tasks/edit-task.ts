/**
 * Edits tasks. Rows that are not yet due are replaced according to the new definition; a row that is due stays and runs, and
 * the rows after it follow the new definition. So each occurrence belongs to exactly one version, and none is lost between two.
 * settle-due.ts handles occurrences that came due before the edit and have not been fired.
 */

import { isDeepStrictEqual } from 'node:util'
import { fileIdsOf } from '../../core/action/action-files.ts'
import { Refusal } from '../../core/errors.ts'
import { shardOf } from '../../core/ids.ts'
import { laneOf } from '../../core/run/lane.ts'
import { delayMs, firstOccurrence, nextOccurrence } from '../../core/schedule/occurrences.ts'
import { tokenlessDefinition } from '../../core/secret/slack-address.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import { isRetiming, type TaskEdit } from '../../core/task/task-input.ts'
import { changesBetween } from '../../core/task/version-diff.ts'
import { settleTask } from '../../store/audit/audit.ts'
import { type Queryable, violatedConstraint } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { replaceFileUses } from '../../store/files/uses.ts'
import { replaceSecretUses } from '../../store/secrets/secrets.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import { continueChain, keepOrdinal, latestOccurrence, type SweptRow } from '../../store/tasks/next-row.ts'
import { markPaused, rewordPause } from '../../store/tasks/pauses.ts'
import { endVersion, type RedefinedTask, replaceDefinition } from '../../store/tasks/redefinition.ts'
import { type EditNote, insertEdit } from '../../store/tasks/task-versions.ts'
import { requireQueueOf } from '../access/require.ts'
import { recordChange, taskSubject } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { admitEdit, limitsStorage } from '../limits/admit-tasks.ts'
import { keepLimits, limitsOf } from '../limits/task-limits.ts'
import { keepTokens, withoutTokens } from '../secrets/slack-tokens.ts'
import { chainDelay, firstRow, redefineTask } from './define-task.ts'
import type { ExpectedVersion } from './expected-version.ts'
import { isOnceOver, onceHeld } from './once-ahead.ts'
import { endOverdue, endWait, recordPause } from './pause-task.ts'
import { refuseProgramLimits } from './program-limits.ts'
import { haltTask, lockLiving, nextOrdinal, recordDue, writeAhead, writeNext } from './settle.ts'
import { type Change, goesOnFrom, settleDue } from './settle-due.ts'
import { dropSkips } from './skip-next.ts'
import { waitOf } from './task-files.ts'

/** A change to a task, the version it was made from, and who makes it. */
export interface Edit {
  readonly id: string
  readonly edit: TaskEdit
  readonly expected: ExpectedVersion
  readonly by: string | null
}

export async function editTask(context: Context, { id, edit: given, expected, by }: Edit): Promise<void> {
  const note = { by, reason: given.reason ?? null, rollbackOf: null }
  const {
    inputs: [edit = given],
    tokens,
  } = await withoutTokens(context, [given])
  await redefine(context, { id, expected, note }, async (task, now, tx) => {
    // Even if nothing else changes: the secret may have been deleted.
    if (tokens.size > 0) await keepTokens(tx, context, tokens)
    const edited = {
      key: edit.key === undefined ? task.key : edit.key,
      name: edit.name === undefined ? task.name : edit.name,
      owner: edit.owner === undefined ? task.owner : edit.owner,
      tags: edit.tags === undefined ? task.tags : [...new Set(edit.tags)],
      definition: redefineTask(task.definition, edit, { now, seed: task.key ?? id }),
    }
    return isSame(task, edited) ? null : { ...edited, isRetimed: isRetiming(edit) }
  })
}

/**
 * Returns whether an edit changes nothing. Deploying the same task again creates no version and skips no occurrence. An address
 * is the same whether its tokens are stored as secrets or not.
 */
function isSame(
  { key, name, owner, tags, ...task }: LockedTask,
  { definition: edited, ...fields }: Omit<Redefined, 'isRetimed'>,
): boolean {
  const definition = tokenless(task.definition)
  return (
    changesBetween({ key, name, owner, tags, definition }, { ...fields, definition: tokenless(edited) })
      .length === 0
  )
}

const tokenless = (definition: TaskDefinition): TaskDefinition =>
  tokenlessDefinition(definition)?.value ?? definition

/** The task to redefine, the version it is based on, and the note of the edit. */
export interface Redefinition {
  readonly id: string
  readonly expected: ExpectedVersion
  readonly note: EditNote
}

/** The new state of a task. */
export interface Redefined extends Omit<RedefinedTask, 'id'> {
  /** Whether the edit may change when the task is due, and not only what it does. */
  readonly isRetimed: boolean
}

/** Creates a new version of a task, which applies from now on. If `toBe` returns null, the task stays as it is. */
export async function redefine(
  context: Context,
  { id, expected, note: given }: Redefinition,
  toBe: (task: LockedTask, now: number, tx: Queryable) => Promise<Redefined | null>,
): Promise<void> {
  const { db, clock, projectId, wakeUps, lanes } = context
  const limits = await limitsOf(context)
  const note = { ...given, reason: given.reason ?? context.request?.reason ?? null }
  let key: string | null = null
  const work = withDeadlockRetry(db, async (tx) => {
    const locked = await lockLiving(tx, context, id)
    refuseOtherVersion(locked.version, expected)
    const now = Math.floor(clock.now())
    const task = await endOverdue(tx, locked, { projectId, now })
    const redefined = await toBe(task, now, tx)
    if (redefined === null) return UNCHANGED
    const edit = {
      context,
      task,
      redefined,
      now,
      wait: await waitOf(tx, projectId, redefined.definition.action),
    }
    key = redefined.key
    await admit(tx, edit, limits)
    const stored = await store(tx, edit, note)
    const due = await moveRows(tx, edit, stored)
    const lane = laneOf(projectId, redefined.definition)
    // Wakes runs that wait for the rate or the limit of the key, so that they need not wait until workers poll.
    const isGateChanged = !isDeepStrictEqual(lane.gate, laneOf(projectId, task.definition).gate)
    return { due, isGateChanged, noteLane: await lanes.registerAfterRuns(tx, [lane]) }
  })
  const { due, isGateChanged, noteLane } = await work.catch((error: unknown) => {
    if (violatedConstraint(error) === 'task_by_key') throw keyInUse(key ?? '')
    throw error
  })
  noteLane()
  if (isGateChanged) wakeUps.announceQueues()
  const shard = shardOf(id)
  wakeUps.announceDue(due.map((at) => ({ shard, at })))
}

/** What became of the queue and the rows of a task that stays as it is. */
const UNCHANGED = { due: [], isGateChanged: false, noteLane: () => {} }

/** An edit in its transaction. */
interface Redefining {
  readonly context: Context
  /** The task before the edit. */
  readonly task: LockedTask
  readonly redefined: Redefined
  readonly now: number
  /** What the task then waits for, in words; null if its files are there. */
  readonly wait: string | null
}

/** Refuses an edit that the caller may not make or that exceeds a limit. */
async function admit(
  tx: Queryable,
  { context, task, redefined, now }: Redefining,
  limits: Awaited<ReturnType<typeof limitsOf>>,
): Promise<void> {
  const { definition, isRetimed } = redefined
  requireQueueOf(context, definition)
  keepLimits(definition, limits, { now, isRetimed })
  // A stored action is not checked again: the operator may have lowered the maxima since.
  if (definition.action !== task.definition.action) refuseProgramLimits(definition, context)
  if (limitsStorage(limits.project))
    await admitEdit(tx, context, limits.project, {
      id: task.id,
      before: task.definition,
      after: definition,
    })
}

interface Stored {
  readonly version: number
  readonly updatedAt: number
}

/** Stores the new version, what it refers to, and who made it. */
async function store(
  tx: Queryable,
  { context, task, redefined, now }: Redefining,
  note: EditNote,
): Promise<Stored> {
  const { projectId } = context
  const { id } = task
  const { definition } = redefined
  const [replaced] = await tx.run(replaceDefinition({ id, ...redefined }, now))
  await tx.run(insertEdit(id, note))
  if (task.definition.secrets || definition.secrets)
    await tx.run(replaceSecretUses(projectId, { taskId: id, names: definition.secrets ?? [] }))
  const { version, updatedAt } = replaced as Stored
  const fileIds = fileIdsOf(definition.action)
  if (fileIds.length + fileIdsOf(task.definition.action).length > 0)
    await tx.run(replaceFileUses(projectId, { taskId: id, fileIds, version }))
  await recordChange(tx, context, {
    action: note.rollbackOf === null ? 'task.edit' : 'task.rollback',
    subject: taskSubject({ id, ...redefined }),
    before: { version: task.version },
    after: { version },
    reason: note.reason,
  })
  return { version, updatedAt }
}

/** Moves the rows of the task that are not due yet to the new version; returns when they are due. */
async function moveRows(
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

function refuseOtherVersion(version: number, expected: ExpectedVersion): void {
  if (expected === null || expected === 'any' || expected === version) return
  throw new Refusal(
    'version_mismatch',
    `The task is at version ${version}, not ${expected}. Read it again and reapply the change.`,
    { extra: { currentVersion: version } },
  )
}

function keyInUse(key: string): Refusal {
  const problems = [{ pointer: '/key', detail: 'belongs to another task' }]
  return new Refusal('key_in_use', `The key '${key}' belongs to another task.`, { problems })
}

/** Keeps the times of the task, because only what it does has changed. Returns when the rows that it wrote are due. */
async function carryOver(tx: Queryable, change: Change): Promise<number[]> {
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
async function reschedule(tx: Queryable, change: Change): Promise<number[]> {
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
async function passedUntil(tx: Queryable, { task, now }: Pick<Change, 'task' | 'now'>): Promise<number> {
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
