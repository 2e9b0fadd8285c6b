/** Queues: where due runs wait for a worker. */
import { queryOptions } from '@tanstack/react-query'
import { ask, type ChangeOptions, get, post } from './client.ts'
import { inPages } from './pages.ts'
import { queryClient } from './query-client.ts'
import type { Queue, QueueEdit, Run } from './wire.ts'

const PAGE_SIZE = 100
const RUNS_PAGE_SIZE = 50
const LISTS = ['queues'] as const

export const pathOfQueue = (name: string, act = ''): string => `/v1/queues/${encodeURIComponent(name)}${act}`

export const queuesQuery = (q: string | undefined) =>
  inPages<Queue>({ queryKey: [...LISTS, q ?? null], path: '/v1/queues', filter: { q }, limit: PAGE_SIZE })

export const queueQuery = (name: string) =>
  queryOptions({
    queryKey: ['queue', name],
    queryFn: ({ signal }) => get<Queue>(pathOfQueue(name), signal),
  })

/** The waiting runs of a queue, in the order in which they will start. */
export const waitingQuery = (name: string) =>
  inPages<Run>({ queryKey: ['queue-runs', name], path: pathOfQueue(name, '/runs'), limit: RUNS_PAGE_SIZE })

export const pauseQueue = async (name: string): Promise<void> => keep(await post(pathOfQueue(name, '/pause')))

export const resumeQueue = async (name: string): Promise<void> =>
  keep(await post(pathOfQueue(name, '/resume')))

export const editQueue = async (name: string, body: QueueEdit, options?: ChangeOptions): Promise<void> =>
  keep((await ask<Queue>('PATCH', pathOfQueue(name), { body, ...options })).data)

/** Shows the answer at once; lists are refetched. */
function keep(queue: Queue): void {
  queryClient.setQueryData(queueQuery(queue.name).queryKey, queue)
  void queryClient.invalidateQueries({ queryKey: LISTS })
}
