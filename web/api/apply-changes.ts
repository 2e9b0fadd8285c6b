/**
 * Applies messages of the event stream to the cached lists. Rows already on the screen change in place and never move. New rows
 * are inserted at the top while the user is looking at the top of the list; otherwise they are counted and announced.
 */
import type { Query } from '@tanstack/react-query'
import type { Changes, RunChange } from '../../src/api/resources/stream/schemas.ts'
import { addFresh } from './fresh.ts'
import { type Pages, withNewest } from './live-rows.ts'
import { queryClient } from './query-client.ts'
import { isOpen, RUN_PAGE_SIZE, runKeys } from './runs.ts'
import { targetKeys } from './targets.ts'
import { dropTask, patchTask } from './task-cache.ts'
import { TASK_PAGE_SIZE, taskKeys } from './tasks.ts'
import type { Run, RunState, Task } from './wire.ts'

/** Number of recent runs that the API returns with a task. */
const RECENT_SHOWN = 20

export function applyChanges(changes: Changes, { isWatching }: { readonly isWatching: boolean }): void {
  if (!changes.isComplete) void queryClient.invalidateQueries()
  if (changes.circuits.length > 0)
    for (const queryKey of [targetKeys.lists, targetKeys.ones])
      void queryClient.invalidateQueries({ queryKey })
  for (const id of changes.deletedTasks) dropTask(id)
  for (const task of changes.tasks) patchTask(task as Task)
  for (const query of queriesOf(taskKeys.lists)) addTasks(query, changes.tasks as readonly Task[], isWatching)
  for (const run of changes.runs.toReversed()) {
    if (!isOpen(run)) noteEnd(run)
    void queryClient.invalidateQueries({ queryKey: runKeys.one(run.id) })
  }
  for (const query of [...queriesOf(runKeys.lists), ...queriesOf(runKeys.ofTasks)])
    addRuns(query, changes.runs, isWatching)
}

const queriesOf = (queryKey: readonly unknown[]): Query[] => queryClient.getQueryCache().findAll({ queryKey })

/** A list without filters shows every new task. Only the server can tell whether a filtered list would include it. */
function addTasks(query: Query, tasks: readonly Task[], isWatching: boolean): void {
  const pages = query.state.data as Pages<Task> | undefined
  const filter = (query.queryKey[1] ?? {}) as Record<string, unknown>
  const first = pages?.pages[0]
  if (!pages || !first || Object.values(filter).some((value) => value !== undefined)) return
  const newest = first.items[0]?.id ?? ''
  // Ids increase with time: an id greater than the newest known one belongs to a newer row.
  const added = tasks.filter(({ id }) => id > newest).toSorted((one, other) => (one.id < other.id ? 1 : -1))
  if (added.length === 0) return
  const ids = added.map(({ id }) => id)
  if (!isWatching) {
    addFresh(query.queryHash, ids)
    return
  }
  const shown = added.map((task) => ({ recent: [], ...task }))
  addOnTop(query, pages, shown, TASK_PAGE_SIZE)
}

/** A list that became too long is cut and its next page read again. */
function addOnTop<T>({ queryKey }: Query, pages: Pages<T>, added: readonly T[], pageSize: number): void {
  const { data, isCut } = withNewest(pages, added, pageSize)
  queryClient.setQueryData<Pages<T>>(queryKey, data)
  if (isCut) void queryClient.invalidateQueries({ queryKey, exact: true })
}

/** Adds a run that has ended to the recent runs of its task. */
function noteEnd(run: RunChange): void {
  const add = (task: Task): Task => {
    if (!task.recent || task.id !== run.taskId || run.endedAt === null) return task
    const durationMs = run.startedAt === null ? null : Date.parse(run.endedAt) - Date.parse(run.startedAt)
    const ended = { ...run, endedAt: run.endedAt, state: run.state as 'completed', durationMs }
    const others = task.recent.filter(({ id }) => id !== run.id)
    return { ...task, recent: [ended, ...others].slice(0, RECENT_SHOWN) }
  }
  queryClient.setQueryData<Task>(taskKeys.one(run.taskId), (task) => task && add(task))
  queryClient.setQueriesData<Pages<Task>>({ queryKey: taskKeys.lists }, (data) => data && mapItems(data, add))
}

function addRuns(query: Query, runs: readonly RunChange[], isWatching: boolean): void {
  const pages = query.state.data as Pages<Run> | undefined
  const first = pages?.pages[0]
  if (!pages || !first) return
  const news = new Map(runs.filter((run) => concerns(query, run)).map((run) => [run.id, run]))
  const known = new Set(pages.pages.flatMap(({ items }) => items.map(({ id }) => id)))
  // The stream omits the output and describes the result in words.
  const patched = mapItems(pages, (run) => ({ ...run, ...news.get(run.id) }))
  const state = stateOf(query)
  const added = [...news.values()].filter(
    (run) => !known.has(run.id) && (state === undefined || run.state === state),
  )
  const shown = added.map((run): Run => ({ ...run, output: null }))
  addOnTop(query, patched, isWatching ? shown : [], RUN_PAGE_SIZE)
  if (!isWatching)
    addFresh(
      query.queryHash,
      added.map(({ id }) => id),
    )
}

/** The key `['runs', filter]` covers all tasks, `['runs-of-task', id, state]` one task. */
function concerns({ queryKey }: Query, run: RunChange): boolean {
  return queryKey[0] === runKeys.lists[0] || queryKey[1] === run.taskId
}

function stateOf({ queryKey }: Query): RunState | undefined {
  if (queryKey[0] === runKeys.lists[0]) return (queryKey[1] as { state?: RunState } | undefined)?.state
  return (queryKey[2] as RunState | null) ?? undefined
}

function mapItems<T>(data: Pages<T>, change: (item: T) => T): Pages<T> {
  return { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(change) })) }
}
