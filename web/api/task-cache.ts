/**
 * Updates every cached copy of a task with a newer version, without refetching. Members that the answer leaves out, such as
 * recent runs, keep their cached value.
 */
import type { InfiniteData } from '@tanstack/react-query'
import { markGone } from './gone.ts'
import { queryClient } from './query-client.ts'
import { taskKeys } from './tasks.ts'
import type { Page, Task } from './wire.ts'

type Pages = InfiniteData<Page<Task>, string | null>

export function patchTask(task: Task): void {
  queryClient.setQueryData<Task>(taskKeys.one(task.id), (known) => ({ ...known, ...task }))
  mapItems((items) => items.map((item) => (item.id === task.id ? { ...item, ...task } : item)))
}

/** Removes a deleted task from every list. Pages that show it keep their data and say that it was deleted. */
export function dropTask(id: string): void {
  markGone(id)
  mapItems((items) => items.filter((item) => item.id !== id))
}

function mapItems(change: (items: readonly Task[]) => readonly Task[]): void {
  queryClient.setQueriesData<Pages>({ queryKey: taskKeys.lists }, (data) =>
    data === undefined
      ? data
      : { ...data, pages: data.pages.map((page) => ({ ...page, items: change(page.items) })) },
  )
}
