/** Statistics of the overview, nodes and shards. */
import { queryOptions } from '@tanstack/react-query'
import type { Node, Shard } from '../../src/api/resources/nodes/schemas.ts'
import type { HistoryRange, Stats, StatsHistory } from '../../src/api/resources/overview/schemas.ts'
import type { Server } from '../../src/api/resources/server/schemas.ts'
import { get } from './client.ts'

export type { HistoryRange, Node, Shard, Stats, StatsHistory }

const REFRESH_MS = 2_000

export const statsQuery = queryOptions({
  queryKey: ['stats'],
  queryFn: ({ signal }) => get<Stats>('/v1/stats', signal),
  refetchInterval: REFRESH_MS,
})

/** Steps of a chart, by the time at which runs ended. */
export type Steps = StatsHistory['steps']

/** Longer ranges change slowly, so they are refreshed less often. */
const HISTORY_REFRESH_MS = 15_000

export const historyQuery = (range: HistoryRange) =>
  queryOptions({
    queryKey: ['stats-history', range],
    queryFn: ({ signal }) => get<StatsHistory>(`/v1/stats/history?range=${range}`, signal),
    refetchInterval: HISTORY_REFRESH_MS,
  })

/** This changes only with a restart, after which the page reloads it anyway. */
export const serverQuery = queryOptions({
  queryKey: ['server'],
  queryFn: ({ signal }) => get<Server>('/v1/server', signal),
})

export const nodesQuery = queryOptions({
  queryKey: ['nodes'],
  queryFn: async ({ signal }) => (await get<{ items: readonly Node[] }>('/v1/nodes', signal)).items,
  refetchInterval: REFRESH_MS,
})

export const shardsQuery = queryOptions({
  queryKey: ['shards'],
  queryFn: async ({ signal }) => (await get<{ items: readonly Shard[] }>('/v1/shards', signal)).items,
  refetchInterval: REFRESH_MS,
})
