/** The nodes, the runs that each leases, and the owners of the shards, as users see them. */

import { SHARD_COUNT } from '../../core/ids.ts'
import { MAX_SHARED, soonestOwn } from '../agenda/own-rows.ts'
import { watchedShards } from '../agenda/shards.ts'
import { part, sql } from '../database/sql.ts'
import type { SecretsState } from '../secrets/keys.ts'

/** A node as users see it. */
export interface NodeRow {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly roles: readonly string[]
  readonly concurrency: number
  readonly startedAt: number
  readonly beatAt: number
  /** Time since its last heartbeat, by the database's clock. */
  readonly silentMs: number
  readonly deadAt: number | null
  /** How it died: it was stopped in an orderly way, or it stopped sending heartbeats. */
  readonly reason: 'stopped' | 'lost' | null
  /** Its state with respect to the encryption keys of secrets; null for remote workers and older releases. */
  readonly secrets: SecretsState | null
  /** Number of shards that it watches. */
  readonly shards: number
  /** What a remote worker offers; null for other nodes. */
  readonly offers: {
    readonly handlers: string[]
    readonly labels: string[]
    readonly queues: string[] | null
  } | null
  /** All labels that it offers to runs, including those that only Belfry assigns. */
  readonly labels: readonly string[]
}

/** Returns the version of the PostgreSQL server, such as '18.4', without the text that distributors append. */
export const databaseVersion = () =>
  sql<{ version: string }>`select split_part(current_setting('server_version'), ' ', 1) as version`

/**
 * Lists nodes, living ones first, then the dead ones, latest first. Dead nodes are kept for a week. With a project, only its
 * own remote workers are included.
 */
export const listNodes = ({ projectId, limit }: { projectId: string | null; limit: number }) => sql<NodeRow>`
  select n.id, n.name, n.version, n.roles, n.concurrency, n.started_at as "startedAt", n.beat_at as "beatAt",
         (extract(epoch from clock_timestamp() - n.beat_at) * 1000)::float8 as "silentMs", n.dead_at as "deadAt", n.reason, n.secrets,
         (select count(*)::integer from shard where owner = n.id) as shards,
         case when w.id is not null then jsonb_build_object('handlers', w.handlers, 'labels', w.labels, 'queues', w.queues) end as offers,
         coalesce(w.labels, n.labels) as labels
  from node n left join remote_worker w on w.id = n.id
  where ${projectId}::uuid is null or w.id is null or w.project_id = ${projectId}::uuid
  order by n.dead_at desc nulls first, n.started_at desc, n.id
  limit ${limit}`

/** Number of runs that each node leases, and whether there may be more. */
export interface LeasedByNode {
  /** Null if no node leases any. */
  readonly nodeId: string | null
  readonly runs: number
  readonly isCut: boolean
}

const DUE = part`wake_at <= now() + interval '1 second'`

/** The rows of a shard that are due soonest, of any project. */
const soonest = (limit: number) =>
  part`(select *, 0::bigint as place from agenda where shard = s.id and ${DUE} order by wake_at limit ${limit})`

/**
 * Counts runs by the node that leases them. Running rows have come due, most of them before the waiting ones, so the beginning
 * of each shard is read, up to the limit: there may be a million rows waiting behind.
 */
export const leasedByNodes = ({
  projectId,
  maxPerShard,
}: {
  /** Only runs of this project; null for all. */
  projectId: string | null
  maxPerShard: number
}) => sql<LeasedByNode>`
  with due as materialized (
    select s.id as shard, a.worker_id, a.project_id, a.place
    from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral ${projectId === null ? soonest(maxPerShard) : soonestOwn({ projectId, when: DUE, limit: maxPerShard })} a
  )
  select leased.worker_id as "nodeId", coalesce(leased.runs, 0) as runs, cut.is_cut as "isCut"
  from (select exists (select from due group by shard having count(*) >= ${maxPerShard}::integer or max(place) >= ${MAX_SHARED}::bigint) as is_cut) cut
  left join (
    select worker_id, count(*)::integer as runs from due
    where worker_id is not null and (${projectId}::uuid is null or project_id = ${projectId}::uuid) group by worker_id
  ) leased on true`

/** A shard as users see it. */
export interface ShardState {
  readonly id: number
  readonly owner: string | null
  readonly ownerName: string | null
  readonly fence: number
  readonly watchedUntil: number
  /** Time since a node last reported that it watches the shard, by the database's clock. */
  readonly silentMs: number
}

export const listShards = () => sql<ShardState>`
  select s.id, s.owner, n.name as "ownerName", s.fence, s.watched_until as "watchedUntil",
         (extract(epoch from clock_timestamp() - s.watched_until) * 1000)::float8 as "silentMs"
  from ${watchedShards} s left join node n on n.id = s.owner
  order by s.id`
