/** Finds live rows that no node will handle. */
import { SHARD_COUNT } from '../../core/ids.ts'
import { list, sql } from '../database/sql.ts'

/** A live row that no node will handle. */
export interface StrandedRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly state: 'pending' | 'running'
  readonly workerId: string | null
}

/** Where the search through the live rows of one shard continues. */
export interface ShardPosition {
  readonly shard: number
  readonly from: number | null
}

/** Result of searching the live rows of some shards. */
export interface StrandedLook {
  readonly rows: readonly StrandedRow[]
  /** The position from which to continue in each shard that has more rows. */
  readonly positions: readonly { readonly shard: number; readonly from: number }[]
}

/**
 * Returns rows that have been due for a long time and that no node will handle: pending rows without a row in `ready`, and
 * running rows of a node that is dead and buried, or no longer known. A limited number of rows of each shard is read along the
 * due index.
 */
export const strandedRows = ({
  positions,
  olderThanMs,
  maxPerShard,
}: {
  positions: readonly ShardPosition[]
  olderThanMs: number
  maxPerShard: number
}) => sql<StrandedLook>`
  with due as materialized (
    select a.* from unnest(${list(positions, (p) => p.shard)}::smallint[], ${list(positions, (p) => p.from)}::float8[]) as s(id, from_ms)
    cross join lateral (
      select run_id, task_id, project_id, shard, coalesce(side, lane) as lane, priority, wake_at, state, worker_id from agenda
      where shard = s.id and wake_at >= coalesce(to_timestamp(s.from_ms / 1000), '-infinity')
        and wake_at < now() - ${olderThanMs}::integer * interval '1 millisecond'
      order by wake_at limit ${maxPerShard}
    ) a
  ), stranded as (
    select * from due d
    where case d.state
      when 'pending' then not exists (
        select from ready r where r.lane = d.lane and r.priority = d.priority and r.wake_at = d.wake_at and r.run_id = d.run_id)
      when 'running' then not exists (select from node n where n.id = d.worker_id and (n.dead_at is null or n.buried_at is null))
      else false end
  )
  select coalesce((select jsonb_agg(jsonb_build_object('runId', run_id, 'taskId', task_id, 'projectId', project_id, 'state', state,
                                                       'workerId', worker_id)) from stranded), '[]') as rows,
         coalesce((select jsonb_agg(jsonb_build_object('shard', shard, 'from', ceil(extract(epoch from until) * 1000)))
                   from (select shard, max(wake_at) as until from due group by shard having count(*) >= ${maxPerShard}::integer) full_ones),
                  '[]') as positions`

/** All shards, read from the beginning. */
export const ALL_SHARDS: readonly ShardPosition[] = Array.from({ length: SHARD_COUNT }, (_, shard) => ({
  shard,
  from: null,
}))

/** Makes the reaper look for runs of dead nodes once more. */
export const unburyNodes = (ids: readonly string[]) => sql<{ id: string }>`
  update node set buried_at = null where id = any(${list(ids, (id) => id)}::uuid[]) and dead_at is not null and buried_at is not null
  returning id`
