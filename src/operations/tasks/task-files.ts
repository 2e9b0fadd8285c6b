/**
 * The files that tasks name. They must exist when a task is stored. A task waits for those that have not been uploaded yet: it
 * is paused, and resumes in the transaction that completes the last of them (file-waits.ts).
 */
import type { Action } from '../../core/action/action.ts'
import { fileIdsOf, filesNamedBy } from '../../core/action/action-files.ts'
import { invalidInput, MAX_PROBLEMS, Refusal } from '../../core/errors.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import type { Use } from '../../store/limits/project-use.ts'
import { holdFiles, missingFiles, type NeededFile } from '../../store/tasks/file-waits.ts'
import type { NewTask } from '../../store/tasks/insert-tasks.ts'
import type { Context } from '../context.ts'
import { admitTasks, limitsStorage, type StorageLimits } from '../limits/admit-tasks.ts'
import { pausedFromStart } from './paused-from-start.ts'

/** Number of files that one statement locks. */
const HELD_AT_ONCE = 1_000

/** Returns files by their ids, locked against changes until the commit. */
async function held(
  tx: Queryable,
  projectId: string,
  actions: readonly Action[],
): Promise<ReadonlyMap<string, NeededFile>> {
  const ids = [...new Set(actions.flatMap(fileIdsOf))].sort()
  const found = new Map<string, NeededFile>()
  for (let from = 0; from < ids.length; from += HELD_AT_ONCE)
    for (const file of await tx.run(holdFiles(projectId, ids.slice(from, from + HELD_AT_ONCE))))
      found.set(file.id, file)
  return found
}

/** Returns why an action has to wait; null if all its files are complete. Rejects files that do not exist. */
export async function waitOf(tx: Queryable, projectId: string, action: Action): Promise<string | null> {
  const files = await held(tx, projectId, [action])
  refuseUnknown(action, files, '')
  return reasonOf(action, files)
}

/** Like `waitOf`, for a task that is stored already, whose files may have been removed by hand. */
export async function waitOfStored(tx: Queryable, projectId: string, action: Action): Promise<string | null> {
  return reasonOf(action, await held(tx, projectId, [action]))
}

function refuseUnknown(action: Action, files: ReadonlyMap<string, NeededFile>, place: string): void {
  const unknown = filesNamedBy(action).filter(({ id }) => !files.has(id))
  if (unknown.length > 0)
    throw invalidInput(
      unknown.slice(0, MAX_PROBLEMS).map(({ id, pointer }) => ({
        pointer: `${place}${pointer}`,
        detail: `is ${id}, which is not a file of this project; create it first: POST /v1/files`,
      })),
    )
}

function reasonOf(action: Action, files: ReadonlyMap<string, NeededFile>): string | null {
  const missing = fileIdsOf(action).flatMap((id) => {
    const file = files.get(id)
    return file?.isReady ? [] : [file?.name ?? id]
  })
  return missing.length === 0 ? null : waitReason(missing)
}

/** Maximum number of files that a reason names. */
const MAX_NAMED = 3

function waitReason(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED).join(', ')
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  return `Waiting for the upload of ${shown}${more}`
}

/** New tasks, those with files as their files allow: one that has to wait has no first row. One that is paused is so already. */
export async function withWaits(
  tx: Queryable,
  projectId: string,
  tasks: readonly NewTask[],
  pointer: (index: number) => string,
): Promise<readonly NewTask[]> {
  if (!tasks.some(namesFiles)) return tasks
  const files = await held(
    tx,
    projectId,
    tasks.map(({ definition }) => definition.action),
  )
  return tasks.map((task, index) => {
    if (!namesFiles(task)) return task
    const { action } = task.definition
    refuseUnknown(action, files, pointer(index))
    const reason = task.pause ? null : reasonOf(action, files)
    return reason === null ? task : pausedFromStart(task, { reason, awaitsFiles: true })
  })
}

interface Storing<T> {
  readonly limits: StorageLimits
  readonly use: Use
  store(tx: Queryable, tasks: readonly NewTask[]): Promise<T>
}

/** Stores a task, and what has to be stored with it, in a transaction that makes room for it first and in which none of its files changes. */
export const storeTogether = <T>(
  context: Pick<Context, 'db' | 'projectId'>,
  task: NewTask,
  { limits, use, store }: Storing<T>,
): Promise<T> =>
  withDeadlockRetry(context.db, async (tx) => {
    if (limitsStorage(limits)) await admitTasks(tx, context, limits, use)
    return store(tx, await withWaits(tx, context.projectId, [task], () => ''))
  })

export const namesFiles = ({ definition: { action } }: Pick<NewTask, 'definition'>): boolean =>
  action.type === 'exec' && filesNamedBy(action).length > 0

/** Rejects an action whose files have not been uploaded. */
export async function refuseMissingFiles(tx: Queryable, projectId: string, action: Action): Promise<void> {
  const ids = fileIdsOf(action)
  if (ids.length === 0) return
  const [missing] = await tx.run(missingFiles(projectId, ids))
  if (!missing) return
  throw new Refusal(
    'file_waiting',
    missing.name === null
      ? `The task runs the file ${missing.id}, which does not exist.`
      : `The task needs the file ${missing.name}, which has not been uploaded yet.`,
    { extra: { fileId: missing.id } },
  )
}
