/** What has changed since an instant: only ids, with which clients read the objects themselves. */
import { leastUuidAt, SHARD_COUNT } from '../../core/ids.ts'
import { alongOwnIndex, latestOwn } from '../agenda/own-rows.ts'
import { elements, part, reading, sql } from '../database/sql.ts'

/** The period of the changes, and the limits of the search. */
export interface ChangesQuery {
  readonly projectId: string
  /** Returns ends, failed attempts and changes of tasks from this instant on. */
  readonly since: number
  /** Returns tasks created at this instant or later by their ids, which carry the time of the node that created them. */
  readonly madeSince: number
  /** Maximum number of items of each kind, latest first. */
  readonly limit: number
  /** Maximum number of the latest live runs of each shard. */
  readonly livePerShard: number
}

/**
 * An object and the instant of its last change: a live run, a run that waits for a retry, an ended run, a task that was
 * created, or a task that was changed (edited, paused, resumed, cancelled or deleted).
 */
export interface ChangedItem {
  readonly kind: 'live' | 'retrying' | 'ended' | 'made' | 'changed'
  readonly id: string
  /** Differs each time the object has changed again. */
  readonly stamp: string
  readonly at: number
}

/** The changes, latest first. */
export interface ChangedItems {
  /** The database's time of this result. */
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
 * Each part reads one index range: history and attempts by time, the end of the due rows of each shard, tasks by id and by
 * change. Rows of other projects are not counted towards any limit, so that they hide nothing; among very many of them, the
 * latest live runs of the project `default` may not be found. No index covers the instant at which a live run changed, so the latest live runs are always included.
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
    select a.run_id, a.project_id, a.wake_at, a.claimed_at, a.cancel_at, a.state, a.kind, a.fence
    from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral ${latestOwn({ projectId, when: part`wake_at <= now() + interval '1 second'`, limit: livePerShard })} a
  ), items as materialized (
    select 'live' as kind, run_id as id, state || '/' || fence || '/' || (cancel_at is not null)::integer as stamp,
           greatest(wake_at, claimed_at, cancel_at) as at
    from live where project_id = ${projectId} and state <> 'retrying' and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
    union all
    (select 'retrying', t.run_id, t.number::text, t.ended_at from attempt t
     cross join lateral (
       select from agenda where run_id = t.run_id and project_id = ${projectId} and state = 'retrying' and attempt = t.number limit 1
     ) a
     where t.ended_at >= to_timestamp(${since}::float8 / 1000)
     order by t.ended_at desc limit ${limit})
    union all
    (select 'ended', run_id, '-', ended_at from run
     where project_id = ${projectId} and ${alongOwnIndex(projectId)} and ended_at >= to_timestamp(${since}::float8 / 1000)
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
