/** Sets the limit and the rate of a queue. */
import { list, part, sql } from '../database/sql.ts'
import { gapOf, nextAtWithin, windowOf } from './rates.ts'

/** A queue, and the maximum number of its runs in progress; null for no limit. */
export interface QueueLimit {
  readonly projectId: string
  readonly name: string
  readonly limit: number | null
}

/**
 * Sets or lifts the limit of a queue and counts the runs in progress. The whole agenda is read, because no index covers running
 * rows: limits change rarely, runs constantly. A locked row is skipped, because most likely the run is just ending; otherwise,
 * `countRunning` counts it.
 */
export const setQueueLimit = ({ projectId, name, limit }: QueueLimit) => sql`
  with uncounted as materialized (
    select run_id from agenda
    where ${limit}::integer is not null and state = 'running' and queue_gate_id is null and lane in (
      select id from lane where project_id = ${projectId} and queue = ${name}
      union all
      select id from gate where project_id = ${projectId} and queue = ${name} and key is not null)
    for update skip locked
  ), counted as (
    update agenda a set queue_gate_id = w.id
    from uncounted u, gate w
    where a.run_id = u.run_id and w.project_id = ${projectId} and w.queue = ${name} and w.key is null
    returning 1
  )
  update gate w set places = ${limit}::integer, held = w.held + c.count
  from (select count(*)::integer as count from counted) c
  where w.project_id = ${projectId} and w.queue = ${name} and w.key is null`

/** The rate of a queue: starts, such as `10/s`, and how many may come at once. An undefined value leaves the setting unchanged. */
export interface QueueRate {
  readonly rate?: string | null | undefined
  readonly burst?: number | null | undefined
}

/**
 * Sets or lifts the rate of a queue; returns the resulting rate. The burst is lifted with the rate. Past starts count, but no
 * longer than the burst allows.
 */
export const setQueueRate = ({ projectId, name, rate, burst }: QueueRate & Omit<QueueLimit, 'limit'>) => sql<{
  rate: string | null
}>`
  update gate g set rate = r.rate, burst = r.burst, rate_gap = r.gap, rate_window = r.size, next_at = ${nextAtWithin(part`r.size`)}
  from (
    select id, rate, burst, gap, ${windowOf(part`gap`, part`burst`)} as size
    from (
      select id, rate, gap, case when rate is null then null when ${burst !== undefined}::boolean then ${burst ?? null}::integer else burst end as burst
      from (
        select id, burst, case when ${rate !== undefined}::boolean then ${rate ?? null}::text else rate end as rate,
               case when ${rate !== undefined}::boolean then ${gapOf(rate)}::bigint else rate_gap end as gap
        from gate where project_id = ${projectId} and queue = ${name} and key is null
        for update
      ) stored
    ) rated
  ) r
  where g.id = r.id
  returning g.rate`

/**
 * Counts the runs of a worker that hold no slot of their queue although it has a limit: they were started by a worker that did
 * not know of the limit yet.
 */
export const countRunning = ({ workerId, runIds }: { workerId: string; runIds: readonly string[] }) => sql`
  with uncounted as materialized (
    select a.run_id, w.id as gate_id
    from agenda a
    cross join lateral (
      select project_id, queue from gate where id = a.lane union all select project_id, queue from lane where id = a.lane
    ) l
    join gate w on w.project_id = l.project_id and w.queue = l.queue and w.key is null and w.places is not null
    where a.run_id = any(${list(runIds, (id) => id)}::uuid[]) and a.worker_id = ${workerId} and a.state = 'running'
      and a.queue_gate_id is null
    for update of a skip locked
  ), counted as (
    update agenda a set queue_gate_id = u.gate_id from uncounted u where a.run_id = u.run_id
    returning a.queue_gate_id as id
  ), places as (
    select id, count(*)::integer as count from counted group by id
  ), gates as (
    select id from gate where id in (select id from places) order by id for update
  )
  update gate g set held = g.held + p.count from gates join places p on p.id = gates.id where g.id = gates.id`
