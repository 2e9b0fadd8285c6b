/** What has happened since an instant: ids alone, for whoever wants to look at what is behind them. */
import { leastUuidAt, SHARD_COUNT } from '../../core/ids.ts'
import { elements, reading, sql } from '../database/sql.ts'

/** Since when to look, and how far. */
export interface ChangesQuery {
  readonly projectId: string
  /** Ends, failed attempts and changes of tasks from this instant on. */
  readonly since: number
  /** Tasks whose ids say that they were made from this instant on: ids carry the time of the node that made them. */
  readonly madeSince: number
  /** How many of each kind are answered, the latest. */
  readonly limit: number
  /** How many of the latest live runs of each shard are looked at. */
  readonly livePerShard: number
}

/**
 * Something that is as it is since some instant: a live run, one that waits for a retry, one that has ended, a
 * task that was made, or one that was changed (edited, paused, resumed, cancelled or deleted).
 */
export interface ChangedItem {
  readonly kind: 'live' | 'retrying' | 'ended' | 'made' | 'changed'
  readonly id: string
  /** Another word whenever it has changed again. */
  readonly stamp: string
  readonly at: number
}

/** What has happened, the latest first. */
export interface ChangedItems {
  /** The database's time at which this was so. */
  readonly now: number
  readonly items: readonly ChangedItem[]
}

interface Columns {
  readonly now: number
  readonly kinds: string | null
  readonly ids: string | null
  readonly stamps: string | null
  readonly instants: string | null
}

/**
 * Each part is a range of an index: history and attempts by time, the end of what is due in each shard, tasks
 * by id and by change. Live runs carry no instant of change that an index knows, so the latest are all there.
 */
export const changesSince = (query: ChangesQuery) => reading(selectChanges(query), fromColumns)

function fromColumns([columns]: readonly Columns[]): ChangedItems[] {
  if (!columns) return []
  const kinds = elements(columns.kinds) as ChangedItem['kind'][]
  const stamps = elements(columns.stamps)
  const instants = elements(columns.instants)
  const items = elements(columns.ids).map(
    (id, i) => ({ kind: kinds[i], id, stamp: stamps[i], at: Math.floor(Number(instants[i])) }) as ChangedItem,
  )
  return [{ now: columns.now, items }]
}

const selectChanges = ({ projectId, since, madeSince, limit, livePerShard }: ChangesQuery) => sql<Columns>`
  with live as materialized (
    select a.* from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral (
      select run_id, project_id, wake_at, claimed_at, cancel_at, state, kind, fence from agenda
      where shard = s.id and wake_at <= now() + interval '1 second'
      order by wake_at desc limit ${livePerShard}
    ) a
  ), tried as materialized (
    select run_id, number, ended_at from attempt where ended_at >= to_timestamp(${since}::float8 / 1000) order by ended_at desc limit ${limit}
  ), items as materialized (
    select 'live' as kind, run_id as id, state || '/' || fence || '/' || (cancel_at is not null)::integer as stamp,
           greatest(wake_at, claimed_at, cancel_at) as at
    from live where project_id = ${projectId} and state <> 'retrying' and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
    union all
    select 'retrying', t.run_id, t.number::text, t.ended_at from tried t
    cross join lateral (
      select from agenda where run_id = t.run_id and project_id = ${projectId} and state = 'retrying' and attempt = t.number limit 1
    ) a
    union all
    (select 'ended', run_id, '-', ended_at from run
     where project_id = ${projectId} and ended_at >= to_timestamp(${since}::float8 / 1000)
     order by ended_at desc limit ${limit})
    union all
    (select 'made', id, '-', created_at from task
     where project_id = ${projectId} and deleted_at is null and id >= ${leastUuidAt(madeSince)}::uuid
     order by id desc limit ${limit})
    union all
    (select 'changed', id, (extract(epoch from updated_at) * 1000000)::bigint::text, updated_at from task
     where project_id = ${projectId} and updated_at > created_at and updated_at >= to_timestamp(${since}::float8 / 1000)
     order by updated_at desc limit ${limit})
  )
  select clock_timestamp() as now, array_agg(kind order by at desc, id)::text as kinds, array_agg(id order by at desc, id)::text as ids,
         array_agg(stamp order by at desc, id)::text as stamps,
         array_agg(date_part('epoch', at) * 1000 order by at desc, id)::text as instants
  from items`
