/** How everything stands, and who does the work. */
import { queryOptions } from '@tanstack/react-query'
import type { Node, Shard } from '../../src/api/schemas/cluster.ts'
import type { Counted } from '../../src/api/schemas/counted.ts'
import type { Stats } from '../../src/api/schemas/stats.ts'
import { get } from './client.ts'

export type { Counted, Node, Shard, Stats }

const REFRESH_MS = 2_000

export const statsQuery = queryOptions({
  queryKey: ['stats'],
  queryFn: ({ signal }) => get<Stats>('/v1/stats', signal),
  refetchInterval: REFRESH_MS,
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
