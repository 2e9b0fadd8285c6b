/** Searches tasks: returns a page of them, newest first, by the cheapest way for the search. */
import type { Queryable } from '../../store/database/database.ts'
import { activeTasks, MAX_ACTIVE_TASKS } from '../../store/tasks/active-tasks.ts'
import { isWalked, tasksInSlice, type WalkedState } from '../../store/tasks/task-walk.ts'
import { findTasks, type TaskQuery, type TaskRow } from '../../store/tasks/tasks.ts'
import type { Context } from '../context.ts'

export type TaskSearch = Omit<TaskQuery, 'id' | 'ids' | 'key' | 'limit'>
type WalkedSearch = TaskSearch & { readonly state: WalkedState }

/** A page of tasks before it is cut to its length. */
export interface TasksFound {
  /** One more than the limit if there are more. */
  readonly rows: readonly TaskRow[]
  /** The search stopped after this task: older ones were not examined. Null if all were. */
  readonly examined: string | null
}

/** How many tasks to find, and for how long to search. */
export interface SearchBounds {
  readonly limit: number
  readonly budgetMs?: number
}

/**
 * A search that has taken longer than this stops after the current slice of tasks, whatever it has found. 100 000 tasks take
 * 0.2 to 0.4 s.
 */
const SEARCH_BUDGET_MS = 1_000

/**
 * Searches tasks. All statements use one snapshot, so a task that changes its state meanwhile is neither missed nor found
 * twice.
 */
export function searchTasks(
  { db }: Pick<Context, 'db'>,
  search: TaskSearch,
  { limit, budgetMs = SEARCH_BUDGET_MS }: SearchBounds,
): Promise<TasksFound> {
  return db.snapshot(async (tx) => {
    if (!isWalkedSearch(search))
      return { rows: await tx.run(findTasks({ ...search, limit: limit + 1 })), examined: null }
    return (await findActive(tx, search, limit)) ?? (await walk(tx, search, { limit, budgetMs }))
  })
}

const isWalkedSearch = (search: TaskSearch): search is WalkedSearch => isWalked(search.state)

/** Returns active tasks, from the agenda; null for other states, and if more tasks are active than can be examined. */
async function findActive(tx: Queryable, search: WalkedSearch, limit: number): Promise<TasksFound | null> {
  const { projectId, state, before } = search
  if (state !== 'running' && state !== 'pending') return null
  const [active] = await tx.run(activeTasks({ projectId, state, before }))
  if (active === undefined || active.isCut) return null
  const rows = await tx.run(findTasks({ ...search, ids: active.ids, limit: limit + 1 }))
  const isWhole = active.ids.length < MAX_ACTIVE_TASKS || rows.length > limit || rows.at(-1)?.hasNext === true
  return isWhole ? { rows, examined: null } : null
}

/** Examines slice after slice until the page is full, all tasks were examined, or the time is used up. */
async function walk(
  tx: Queryable,
  search: WalkedSearch,
  { limit, budgetMs }: Required<SearchBounds>,
): Promise<TasksFound> {
  const until = performance.now() + budgetMs
  const ids: string[] = []
  let examined: string | null = search.before ?? null
  do {
    const wanted = limit + 1 - ids.length
    const slice = await tx.run(tasksInSlice({ ...search, before: examined ?? undefined, wanted }))
    for (const { id, isInState } of slice) if (isInState) ids.push(id)
    examined = slice.find(({ isLast }) => isLast)?.id ?? null
  } while (examined !== null && ids.length <= limit && performance.now() < until)
  const rows = ids.length === 0 ? [] : await tx.run(findTasks({ ...search, ids, limit: limit + 1 }))
  return { rows, examined: ids.length > limit ? null : examined }
}
