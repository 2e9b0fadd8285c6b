/**
 * Archiving a project and restoring it. From the moment that it is archived, requests can only read it. Its tasks are
 * silenced afterwards, a slice at a time: those that go on are paused, and whatever waits or runs is cancelled. Every step
 * can be repeated, and the walk over the tasks is, until nothing is left that was begun before all nodes knew.
 */
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { utc } from '../../core/values/utc.ts'
import { cancelBackfills } from '../../store/backfills/backfills.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import {
  cancelRedrivesOf,
  endSweep,
  forgetSilenced,
  holdSweep,
  noteSilenced,
  type ProjectSweep,
  saveSweep,
  tasksToRestore,
  tasksToSilence,
} from '../../store/projects/project-sweeps.ts'
import { markProjectArchived, markProjectRestored, readProject } from '../../store/projects/projects.ts'
import * as changes from '../../store/tasks/task-statements.ts'
import { recordChange } from '../audit-log/record-change.ts'
import { type Context, contextOf, type Facilities, systemCall } from '../context.ts'
import { pauseTask, resumeTask } from '../tasks/pause-task.ts'

/** What the tasks of an archived project say. */
const ARCHIVED = 'The project is archived.'
const RESTORED = 'The project was restored.'
/** Tasks that one slice goes over. */
const SLICE = 200
/** Longer than nodes take to notice that a project is archived, and requests to end. */
const SETTLE_MS = 20_000

/** Archives the project of the context, or finds it archived. */
export async function archiveProject(context: Context): Promise<void> {
  const { db, projectId } = context
  if (projectId === DEFAULT_PROJECT_ID)
    throw new Refusal('default_project', 'The project default cannot be archived.')
  await db.transaction(async (tx) => {
    const [archived] = await tx.run(markProjectArchived(projectId))
    if (archived)
      await record(tx, context, 'project.archive', { before: null, after: utc(archived.archivedAt) })
  })
  context.wakeUps.announceAccess()
}

export async function restoreProject(context: Context): Promise<void> {
  const { db, projectId } = context
  await db.transaction(async (tx) => {
    const [before] = await tx.run(readProject(projectId))
    const [restored] = await tx.run(markProjectRestored(projectId))
    if (restored && before?.archivedAt != null)
      await record(tx, context, 'project.restore', { before: utc(before.archivedAt), after: null })
  })
  context.wakeUps.announceAccess()
}

async function record(
  tx: Queryable,
  context: Context,
  action: 'project.archive' | 'project.restore',
  archivedAt: { readonly before: string | null; readonly after: string | null },
): Promise<void> {
  const { projectId } = context
  const [project] = await tx.run(readProject(projectId))
  await recordChange(tx, context, {
    action,
    projectId: null,
    subject: { kind: 'project', id: projectId, name: project?.name },
    before: { archivedAt: archivedAt.before },
    after: { archivedAt: archivedAt.after },
  })
}

/** Does the next slice of what is to be done to archived or restored projects; false when there is nothing now. */
export function sweepProjects(facilities: Facilities): Promise<boolean> {
  return facilities.db.transaction(async (tx) => {
    const [sweep] = await tx.run(holdSweep({ settleMs: SETTLE_MS }))
    if (!sweep) return false
    const { projectId, after } = sweep
    const context = contextOf(facilities, systemCall('archive', projectId))
    if (sweep.sweep === 'silence' && after === null) await facilities.db.run(cancelRedrivesOf(projectId))
    const query = { projectId, after, limit: SLICE }
    const tasks = await tx.run(sweep.sweep === 'silence' ? tasksToSilence(query) : tasksToRestore(query))
    for (const { id } of tasks.filter(({ isConcerned }) => isConcerned))
      await (sweep.sweep === 'silence' ? silenceTask(context, id) : restoreTask(context, id))
    const last = tasks.length < SLICE ? null : (tasks.at(-1)?.id ?? null)
    if (last === null && !mayBeginAgain(sweep)) await tx.run(endSweep(projectId))
    else await tx.run(saveSweep({ projectId, after: last }))
    return last !== null
  })
}

/** Until every node refuses changes, the walk begins again when it is through. */
const mayBeginAgain = ({ sweep, isFresh }: ProjectSweep): boolean => sweep === 'silence' && isFresh

async function silenceTask(context: Context, id: string): Promise<void> {
  const { db, wakeUps } = context
  const [goesOn] = await db.run(noteSilenced(id))
  if (goesOn) await pauseTask(context, id, { reason: ARCHIVED }).catch(ignoreEnded)
  await withDeadlockRetry(db, async (tx) => {
    await tx.run(changes.lockTaskRow(id))
    await tx.run(cancelBackfills({ taskId: id, id: null }))
    await tx.run(changes.lockRuns({ taskId: id, runId: null }))
    await tx.run(changes.cancelRuns({ taskId: id, runId: null, nextRunId: uuidv7() }))
  })
  wakeUps.announceCancel()
}

async function restoreTask(context: Context, id: string): Promise<void> {
  await resumeTask(context, id, { reason: RESTORED }).catch(ignoreEnded)
  await context.db.run(forgetSilenced(id))
}

/** Somebody has ended the task meanwhile. */
function ignoreEnded(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}
