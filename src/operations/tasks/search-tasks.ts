/** A page of tasks, newest first, by the shortest way that leads to those that are asked for. */

import type { Queryable } from '../../store/database/database.ts'
import { activeTasks, MAX_ACTIVE_TASKS } from '../../store/tasks/active-tasks.ts'
import { findTasks, isWalk, lastExamined, type TaskQuery, type TaskRow } from '../../store/tasks/tasks.ts'
import type { Context } from '../context.ts'

export type TaskSearch = Omit<TaskQuery, 'id' | 'ids' | 'key' | 'limit'>

/** A page of tasks before it is cut to its length. */
export interface TasksFound {
  /** One more than asked for when there are more. */
  readonly rows: readonly TaskRow[]
  /** The search was broken off behind this task: older ones were not looked at. */
  readonly examined: string | null
}

/** All statements see one instant, so that a task that changes its state meanwhile is neither missed nor met twice. */
export function searchTasks({ db }: Context, search: TaskSearch, limit: number): Promise<TasksFound> {
  return db.snapshot(async (tx) => {
    const active = await findActive(tx, search)
    if (active === null) return walk(tx, search, limit)
    const rows = await tx.run(findTasks({ ...search, ids: active, limit: limit + 1 }))
    const isBrokenOff = active.length >= MAX_ACTIVE_TASKS && rows.length <= limit
    return { rows, examined: isBrokenOff ? (active.at(-1) ?? null) : null }
  })
}

/** The tasks that may be in an active state; null for other states, and when there are too many live rows to tell. */
async function findActive(tx: Queryable, { projectId, state, before }: TaskSearch) {
  if (state !== 'running' && state !== 'pending') return null
  const [active] = await tx.run(activeTasks({ projectId, state, before }))
  return active === undefined || active.isCut ? null : active.ids
}

async function walk(tx: Queryable, search: TaskSearch, limit: number): Promise<TasksFound> {
  const rows = await tx.run(findTasks({ ...search, limit: limit + 1 }))
  const isShort = isWalk(search) && rows.length <= limit
  const [examined] = isShort ? await tx.run(lastExamined(search)) : []
  return { rows, examined: examined?.id ?? null }
}
