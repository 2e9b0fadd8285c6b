/** Versions of a task: who changed what, and going back. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { type Answer, ask, get, queryOf } from './client.ts'
import type { Page, Task, TaskVersion, VersionSummary } from './wire.ts'

const PAGE_SIZE = 20

/** Asked again when the task has another version. */
export const versionsQuery = ({ id, version }: Pick<Task, 'id' | 'version'>) =>
  infiniteQueryOptions({
    queryKey: ['versions', id, version],
    queryFn: ({ pageParam, signal }) =>
      get<Page<VersionSummary>>(
        `/v1/tasks/${id}/versions${queryOf({ limit: PAGE_SIZE, cursor: pageParam })}`,
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

export const versionQuery = (taskId: string, version: number) =>
  queryOptions({
    queryKey: ['version', taskId, version],
    queryFn: ({ signal }) => get<TaskVersion>(`/v1/tasks/${taskId}/versions/${version}`, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })

interface Rollback {
  readonly version: number
  readonly reason?: string
}

/** Restores an earlier version, if the task is still at the version that the user saw. */
export const rollbackTask = (id: string, rollback: Rollback, current: number): Promise<Answer<Task>> =>
  ask('POST', `/v1/tasks/${id}/rollback`, { body: rollback, headers: { 'if-match': `"${current}"` } })
