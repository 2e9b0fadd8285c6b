import type { Queryable } from '../store/database.ts'
import { list, sql } from '../store/sql.ts'
import type { ClaimedRun, ClaimRequest, Transport } from './transport.ts'

/** Carries runs through the table `ready`: workers pass one another with skip-locked claims. */
export class PostgresTransport implements Transport {
  readonly #db: Queryable

  constructor(db: Queryable) {
    this.#db = db
  }

  claim(request: ClaimRequest): Promise<ClaimedRun[]> {
    return this.#db.run(takeReady(request))
  }

  claimGated(request: ClaimRequest): Promise<ClaimedRun[]> {
    return this.#db.run(takeGated(request))
  }
}

/**
 * Takes up to `limit` waiting runs off the lanes and makes them the worker's, in one statement. A first look
 * without locks tells how many of the best come from each lane, so that no more rows are locked than taken.
 * The array subquery is evaluated once, so the limit is exact and the delete is a TID scan. A worker that
 * was declared dead takes nothing; the key-share lock holds that declaration back until this is committed.
 */
export const takeReady = ({ workerId, lanes, limit }: ClaimRequest) => sql<ClaimedRun>`
  with alive as materialized (
    select id from node where id = ${workerId} and dead_at is null for key share
  ), wanted as materialized (
    select lane, count(*)::integer as count from (
      select first.lane from unnest(${list(lanes, (id) => id)}::bigint[]) as l(id)
      cross join lateral (
        select lane, priority, wake_at, run_id from ready where lane = l.id order by priority, wake_at, run_id limit ${limit}
      ) first
      order by first.priority, first.wake_at, first.run_id
      limit ${limit}
    ) best
    group by lane
  ), taken as (
    delete from ready
    where exists (select from alive) and ctid = any(array(
      select next.ctid from wanted w
      cross join lateral (
        select ctid from ready where lane = w.lane order by priority, wake_at, run_id limit w.count for update skip locked
      ) next))
    returning run_id
  )
  update agenda a set state = 'running', worker_id = ${workerId}, claimed_at = clock_timestamp(), fence = a.fence + 1, attempt = a.attempt + 1
  from taken t
  where a.run_id = t.run_id and a.state = 'pending'
  returning a.run_id as "runId", a.task_id as "taskId", a.version, a.scheduled_for as "scheduledFor",
            a.fence, a.attempt, a.losses, a.cancel_at is not null as "isCancelled"`

/**
 * Takes waiting runs off lanes with gates. The gate's lock comes first and is held to the end: nobody else
 * can count its places or take from its lane meanwhile, which makes the limit exact and the order strict.
 */
export const takeGated = ({ workerId, lanes, limit }: ClaimRequest) => sql<ClaimedRun>`
  with alive as materialized (
    select id from node where id = ${workerId} and dead_at is null for key share
  ), gates as materialized (
    select id, places - held as free from gate
    where id = any(${list(lanes, (id) => id)}::bigint[]) and held < places and exists (select from alive)
    order by id for update skip locked
  ), taken as (
    delete from ready where ctid = any(array(
      select next.ctid from gates g
      cross join lateral (
        select ctid, priority, wake_at, run_id from ready where lane = g.id order by priority, wake_at, run_id limit g.free
      ) next
      order by next.priority, next.wake_at, next.run_id
      limit ${limit}))
    returning run_id
  ), claimed as (
    update agenda a set state = 'running', worker_id = ${workerId}, claimed_at = clock_timestamp(), fence = a.fence + 1,
      attempt = a.attempt + 1, gate_id = a.lane
    from taken t
    where a.run_id = t.run_id and a.state = 'pending'
    returning a.*
  ), held as (
    update gate g set held = g.held + c.count
    from (select gate_id, count(*) as count from claimed group by gate_id) c
    where g.id = c.gate_id
  )
  select run_id as "runId", task_id as "taskId", version, scheduled_for as "scheduledFor", fence, attempt, losses,
         cancel_at is not null as "isCancelled"
  from claimed`
