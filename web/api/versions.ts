/** Versions of a task: who changed what, and how to restore one. */
import { queryOptions } from '@tanstack/react-query'
import { type Answer, ask, get } from './client.ts'
import { inPages } from './pages.ts'
import type { Task, TaskVersion, VersionSummary } from './wire.ts'

const PAGE_SIZE = 20

/** Refetched when the version of the task changes. */
export const versionsQuery = ({ id, version }: Pick<Task, 'id' | 'version'>) =>
  inPages<VersionSummary>({
    queryKey: ['versions', id, version],
    path: `/v1/tasks/${id}/versions`,
    limit: PAGE_SIZE,
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
