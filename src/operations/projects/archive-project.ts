/**
 * Archives and restores projects. Once a project is archived, requests can only read it. Its tasks are silenced afterwards, a
 * slice at a time: tasks that are neither paused nor cancelled are paused, and the waiting and running runs of all tasks are
 * cancelled. Every step can be repeated. The sweep over the tasks is repeated until everything is silenced that was begun
 * before all nodes knew of the archiving, and until every task could be changed. A task that cannot be changed does not delay
 * the others.
 */
import { Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { utc } from '../../core/values/utc.ts'
import { cancelBackfills } from '../../store/backfills/backfills.ts'
import { type Queryable, sqlState } from '../../store/database/database.ts'
import { troubleOf } from '../../store/database/database-trouble.ts'
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
import { cancelRuns, lockRuns } from '../../store/tasks/cancel.ts'
import { lockTaskRow } from '../../store/tasks/locked-task.ts'
import { recordChange } from '../audit-log/record-change.ts'
import { type Context, contextOf, type Facilities, systemCall } from '../context.ts'
import { pauseTask, resumeTask } from '../tasks/pause-task.ts'

/** Pause and resume reasons of the tasks of an archived project. */
const ARCHIVED = 'The project is archived.'
const RESTORED = 'The project was restored.'
/** Number of tasks per slice. */
const SLICE = 200
/** Longer than nodes take to notice that a project is archived, and than requests take to end. */
const SETTLE_MS = 20_000

/** Archives the project of the context. Does nothing if it is archived already. */
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

/** The result of one slice. */
export interface SweptSlice {
  /** Whether the next slice follows at once. */
  readonly hasMore: boolean
  /** Tasks that could not be changed. */
  readonly left: readonly { readonly taskId: string; readonly error: unknown }[]
}

/** Processes the next slice of tasks of an archived or restored project. */
export function sweepProjects(facilities: Facilities): Promise<SweptSlice> {
  return facilities.db.transaction(async (tx) => {
    const [sweep] = await tx.run(holdSweep({ settleMs: SETTLE_MS }))
    if (!sweep) return { hasMore: false, left: [] }
    const { projectId, after } = sweep
    const context = contextOf(facilities, systemCall('archive', projectId))
    if (sweep.sweep === 'silence' && after === null) await facilities.db.run(cancelRedrivesOf(projectId))
    const query = { projectId, after, limit: SLICE }
    const tasks = await tx.run(sweep.sweep === 'silence' ? tasksToSilence(query) : tasksToRestore(query))
    const concerned = tasks.filter(({ isConcerned }) => isConcerned).map(({ id }) => id)
    const left = await changeEach(concerned, (id) =>
      sweep.sweep === 'silence' ? silenceTask(context, id) : restoreTask(context, id),
    )
    const hasLeftSome = sweep.hasLeftSome || left.length > 0
    const last = tasks.length < SLICE ? null : (tasks.at(-1)?.id ?? null)
    const isThrough = last === null
    if (isThrough && !hasLeftSome && !mayBeginAgain(sweep)) await tx.run(endSweep(projectId))
    else await tx.run(saveSweep({ projectId, after: last, hasLeftSome: hasLeftSome && !isThrough }))
    return { hasMore: !isThrough, left }
  })
}

/** The sweep is repeated until every node rejects changes. */
const mayBeginAgain = ({ sweep, isFresh }: ProjectSweep): boolean => sweep === 'silence' && isFresh

/** Changes one task after the other; returns those that could not be changed. */
async function changeEach(
  ids: readonly string[],
  change: (id: string) => Promise<void>,
): Promise<SweptSlice['left']> {
  const left: { taskId: string; error: unknown }[] = []
  for (const taskId of ids) {
    try {
      await change(taskId)
    } catch (error) {
      if (!concernsOne(error)) throw error
      left.push({ taskId, error })
    }
  }
  return left
}

/** SQL states of statements that were cancelled, or waited for a lock for too long. */
const CUT_OFF: ReadonlySet<string | undefined> = new Set(['57014', '55P03', '40P01', '40001'])

/** Returns whether an error is about one task, and not about the database. */
const concernsOne = (error: unknown): boolean =>
  troubleOf(error) === undefined || CUT_OFF.has(sqlState(error))

async function silenceTask(context: Context, id: string): Promise<void> {
  const { db, wakeUps } = context
  const [goesOn] = await db.run(noteSilenced(id))
  if (goesOn) await pauseTask(context, id, { reason: ARCHIVED }).catch(ignoreEnded)
  await withDeadlockRetry(db, async (tx) => {
    await tx.run(lockTaskRow(id))
    await tx.run(cancelBackfills({ taskId: id, id: null }))
    await tx.run(lockRuns({ taskId: id, runId: null }))
    await tx.run(cancelRuns({ taskId: id, runId: null, nextRunId: uuidv7() }))
  })
  wakeUps.announceCancel()
}

async function restoreTask(context: Context, id: string): Promise<void> {
  await resumeTask(context, id, { reason: RESTORED }).catch(ignoreEnded)
  await context.db.run(forgetSilenced(id))
}

/** Another request has ended the task meanwhile. */
function ignoreEnded(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}
