/** Runs of tasks. */
import { queryOptions } from '@tanstack/react-query'
import { type ChangeOptions, get, post } from './client.ts'
import { inPages } from './pages.ts'
import type { Run, RunState, RunWithAttempts, TriggerInput } from './wire.ts'

export const RUN_PAGE_SIZE = 50

/** Filters of the list of runs across tasks. */
export interface RunFilter {
  readonly state?: RunState | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export const runKeys = {
  lists: ['runs'] as const,
  ofTasks: ['runs-of-task'] as const,
  ofTask: (taskId: string) => ['runs-of-task', taskId] as const,
  one: (id: string) => ['run', id] as const,
}

export const runsOfTaskQuery = (taskId: string, state?: RunState) =>
  inPages<Run>({
    queryKey: [...runKeys.ofTask(taskId), state ?? null],
    path: `/v1/tasks/${taskId}/runs`,
    filter: { state },
    limit: RUN_PAGE_SIZE,
  })

export const runsQuery = (filter: RunFilter) =>
  inPages<Run>({
    queryKey: [...runKeys.lists, filter],
    path: '/v1/runs',
    filter: { ...filter },
    limit: RUN_PAGE_SIZE,
  })

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: runKeys.one(id),
    queryFn: ({ signal }) => get<RunWithAttempts>(`/v1/runs/${encodeURIComponent(id)}`, signal),
  })

/** Runs a task now, with optional overrides for this run. */
export const triggerTask = (
  taskId: string,
  otherwise?: TriggerInput,
  options?: ChangeOptions,
): Promise<Run> => post(`/v1/tasks/${taskId}/trigger`, otherwise, { headers: onlyOnce(), ...options })

/** Creates a new run that repeats an ended one. */
export const retryRun = (id: string): Promise<Run> =>
  post(`/v1/runs/${id}/retry`, undefined, { headers: onlyOnce() })

/** A request that is repeated with the same key starts no second run. */
const onlyOnce = () => ({ 'idempotency-key': crypto.randomUUID() })

export const cancelRun = (id: string, options?: ChangeOptions): Promise<RunWithAttempts> =>
  post(`/v1/runs/${id}/cancel`, undefined, options)

/** Whether a run has not ended yet. */
export const isOpen = ({ state }: Pick<Run, 'state'>): boolean =>
  state === 'pending' || state === 'running' || state === 'retrying'
