/** Enforces a project's limits on the number of its tasks and on the bytes it stores. */
import { Refusal } from '../../core/errors.ts'
import type { ProjectLimits } from '../../core/limits/limits.ts'
import type { Database, Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { addUse, countUse, isLiving, lockUse, noteUse, type Use } from '../../store/limits/project-use.ts'
import type { Context } from '../context.ts'
import { bytesOf } from './task-limits.ts'

/** Limits on what a project stores. */
export type StorageLimits = Pick<ProjectLimits, 'maxTasks' | 'maxStoredBytes'>

export const limitsStorage = ({ maxTasks, maxStoredBytes }: StorageLimits): boolean =>
  maxTasks !== null || maxStoredBytes !== null

/** A count that took longer than this is cached: for `COUNTED_FOR` times as long as it took, at most `LONGEST_MS`. */
const SLOW_COUNT_MS = 20
const COUNTED_FOR = 20
const LONGEST_MS = 5_000

/** Cached slow counts, by project. */
const countedLately = new WeakMap<Database, Map<string, { readonly use: Use; readonly until: number }>>()

/** Drops the cached counts, so that the effect of a changed limit is visible at once. */
export const forgetCounts = (db: Database): void => void countedLately.delete(db)

/**
 * Reserves room for tasks in the transaction that stores them, or rejects them. Other transactions that store tasks in the
 * project wait until this one has ended.
 */
export async function admitTasks(
  tx: Queryable,
  { db, projectId }: Pick<Context, 'db' | 'projectId'>,
  { maxTasks, maxStoredBytes }: StorageLimits,
  added: Use,
): Promise<void> {
  const limits = { maxTasks, maxStoredBytes }
  const [found] = await tx.run(addUse({ projectId, ...added, ...limits }))
  if (found) return
  const lately = countedLately.get(db) ?? new Map()
  countedLately.set(db, lately)
  const before = lately.get(projectId)
  if (before && before.until > performance.now()) refuseBeyond(before.use, added, limits)
  await tx.run(lockUse(projectId))
  const startedAt = performance.now()
  const [counted] = await tx.run(countUse(projectId, maxStoredBytes !== null))
  const tookMs = performance.now() - startedAt
  const use = { tasks: Number(counted?.tasks ?? 0), bytes: Number(counted?.bytes ?? 0) }
  if (tookMs > SLOW_COUNT_MS) {
    const until = performance.now() + Math.min(COUNTED_FOR * tookMs, LONGEST_MS)
    lately.set(projectId, { use, until })
  } else lately.delete(projectId)
  refuseBeyond(use, added, limits)
  await tx.run(noteUse({ projectId, tasks: use.tasks + added.tasks, bytes: use.bytes + added.bytes }))
}

/** Runs `store` in a transaction that reserves room for the tasks first. */
export const withRoom = <T>(
  context: Pick<Context, 'db' | 'projectId'>,
  limits: StorageLimits,
  added: Use,
  store: (tx: Queryable) => Promise<T>,
): Promise<T> =>
  withDeadlockRetry(context.db, async (tx) => {
    await admitTasks(tx, context, limits, added)
    return store(tx)
  })

function refuseBeyond(use: Use, added: Use, { maxTasks, maxStoredBytes }: StorageLimits): void {
  const isMany = maxTasks !== null && added.tasks > 0 && use.tasks + added.tasks > maxTasks
  if (isMany) {
    const more = added.tasks === 1 ? '' : ` and ${added.tasks} would be added`
    throw new Refusal(
      'too_many_tasks',
      `The project has ${counted(use.tasks)}${more}; its limit is ${maxTasks} (limits.maxTasks). Cancel or delete tasks, or ask an admin of the installation to raise the limit.`,
      { extra: { limit: { maxTasks }, current: use.tasks } },
    )
  }
  if (maxStoredBytes === null || added.bytes === 0 || use.bytes + added.bytes <= maxStoredBytes) return
  throw new Refusal(
    'too_much_stored',
    `The tasks and files of the project take ${use.bytes} bytes and ${added.bytes} would be added; the limit is ${maxStoredBytes} (limits.maxStoredBytes). Delete tasks or files, or ask an admin of the installation to raise the limit.`,
    { extra: { limit: { maxStoredBytes }, current: use.bytes } },
  )
}

const counted = (tasks: number) =>
  `${tasks} task${tasks === 1 ? '' : 's'} that ${tasks === 1 ? 'has' : 'have'} not ended`

/** Reserves room for what an edit adds: a longer definition, or a task that had finished and continues. */
export async function admitEdit(
  tx: Queryable,
  context: Pick<Context, 'db' | 'projectId'>,
  limits: StorageLimits,
  { id, before, after }: { readonly id: string; readonly before: Definition; readonly after: Definition },
): Promise<void> {
  const [task] = await tx.run(isLiving(id))
  const wasLiving = task?.isLiving !== false
  const longer = bytesOf(after) - (wasLiving ? bytesOf(before) : 0)
  const added = { tasks: wasLiving ? 0 : 1, bytes: Math.max(0, longer) }
  if (added.tasks > 0 || added.bytes > 0) await admitTasks(tx, context, limits, added)
}

type Definition = Parameters<typeof bytesOf>[0]
