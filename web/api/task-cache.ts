/**
 * Puts what is newly known about a task wherever it is shown, without asking for it again. Parts that an answer
 * leaves out, such as the latest runs, stay as they are known.
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

/** Takes a task that is gone off every list; pages that show it keep what they know of it, and say so. */
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
