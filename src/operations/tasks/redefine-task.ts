/**
 * Gives a task a new version. Rows that are not yet due are replaced according to the new definition; a row that is due stays
 * and runs, and the rows after it follow the new definition. So each occurrence belongs to exactly one version, and none is
 * lost between two. settle-due.ts handles occurrences that came due before the edit and have not been fired.
 */
import { isDeepStrictEqual } from 'node:util'
import { Refusal } from '../../core/errors.ts'
import { shardOf } from '../../core/ids.ts'
import { laneOf } from '../../core/run/lane.ts'
import { type Queryable, violatedConstraint } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import type { EditNote } from '../../store/tasks/task-versions.ts'
import type { Context } from '../context.ts'
import { limitsOf } from '../limits/task-limits.ts'
import type { ExpectedVersion } from './expected-version.ts'
import { moveRows } from './move-rows.ts'
import { admitVersion, type Redefined, storeVersion } from './new-version.ts'
import { endOverdue } from './pause-task.ts'
import { lockLiving } from './settle.ts'
import { waitOf } from './task-files.ts'

/** The task to redefine, the version it is based on, and the note of the edit. */
export interface Redefinition {
  readonly id: string
  readonly expected: ExpectedVersion
  readonly note: EditNote
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
    await admitVersion(tx, edit, limits)
    const stored = await storeVersion(tx, edit, note)
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

/** The queue and the rows of a task that an edit does not change. */
const UNCHANGED = { due: [], isGateChanged: false, noteLane: () => {} }

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
