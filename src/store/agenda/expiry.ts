/** Runs with a queue timeout: a limit on how long they may wait for a worker. */

import { list, part, sql } from '../database/sql.ts'
import { dequeued } from '../ready/put.ts'
import { nextOfChain } from './chain.ts'
import { wokenByEnds } from './woken.ts'

/** The queue timeout of a run that is about to be fired. */
export interface QueueTimeout {
  readonly runId: string
  readonly attempt: number
  readonly wakeAt: number
  readonly waitMs: number
}

/**
 * Records the instant by which each run must have started. It is written before the fire; if the fire never happens, the row
 * has no effect. The time counts from the due instant, or from now if the run is already late.
 */
export const setQueueTimeouts = (timeouts: readonly QueueTimeout[]) => sql`
  insert into expiry (run_id, attempt, expires_at)
  select run_id, attempt, greatest(to_timestamp(wake_ms / 1000), clock_timestamp()) + wait_ms * interval '1 millisecond'
  from unnest(${list(timeouts, (t) => t.runId)}::uuid[], ${list(timeouts, (t) => t.attempt)}::smallint[],
              ${list(timeouts, (t) => t.wakeAt)}::float8[], ${list(timeouts, (t) => t.waitMs)}::float8[]) as i(run_id, attempt, wake_ms, wait_ms)
  on conflict (run_id) do update set attempt = excluded.attempt, expires_at = excluded.expires_at`

/** Delay before a run that was claimed in time, and may still be handed back, is checked again. */
const LOOK_AGAIN_MS = 30_000

/** Returns the queue timeouts that have expired, the longest expired first. */
export const expiredQueueTimeouts = ({ limit, except }: { limit: number; except: readonly string[] }) => sql<{
  runId: string
}>`
  select run_id as "runId" from expiry
  where expires_at <= clock_timestamp() and run_id <> all(${list(except, (id) => id)}::uuid[])
  order by expires_at limit ${limit}`

/** Result of ending the runs of expired queue timeouts. */
export interface Expired {
  readonly ended: number
  /** Rows that follow: the next rows of chains, and held runs that waited for the ended ones. */
  readonly following: readonly { readonly shard: number; readonly at: number }[]
}

/**
 * Ends runs that still wait after their queue timeout: as skipped if they never started, otherwise as failed. A run that
 * another transaction has locked, most likely a claim, is passed over and checked again. If a claim has locked the `ready` row
 * of an ended run, the row is left to that claim, which finds that the run is gone. A run that was claimed in time is checked
 * again later: a worker that stops may hand it back, and then it waits as if it had never been claimed. Like every end of a
 * run, it first locks the tasks of chains, writes their next rows, and wakes the run that waited for this one.
 */
export const endExpired = (timeouts: readonly { readonly runId: string }[]) => sql<Expired>`
  with due as materialized (
    select run_id, attempt from expiry
    where run_id = any(${list(timeouts, (t) => t.runId)}::uuid[]) and expires_at <= clock_timestamp()
    for update skip locked
  ), chained as materialized (
    select id, version, definition_in_brief(definition, brief, version) as definition from task
    where id in (select a.task_id from due d join agenda a on a.run_id = d.run_id where a.state = 'pending' and a.delay_ms is not null)
    order by id for share
  ), waiting as materialized (
    select a.run_id from due d join agenda a on a.run_id = d.run_id
    where a.state = 'pending' and a.attempt = d.attempt and (select count(*) from chained) >= 0
    order by a.run_id for update of a skip locked
  ), ended as (
    delete from agenda a using waiting w where a.run_id = w.run_id and a.state = 'pending'
    returning a.*
  ), begun as materialized (
    select d.run_id from due d join agenda a on a.run_id = d.run_id where a.state = 'running' and a.attempt = d.attempt + 1
  ), kept as (
    update expiry set expires_at = clock_timestamp() + ${LOOK_AGAIN_MS}::float8 * interval '1 millisecond'
    where run_id = any(array(select run_id from begun))
  ), seen as (
    delete from expiry e
    where e.run_id = any(array(select run_id from due)) and e.run_id not in (select run_id from begun)
      and (e.run_id in (select run_id from ended) or not exists (
        select from agenda a where a.run_id = e.run_id and a.state = 'pending' and a.attempt = e.attempt))
  ), ${dequeued(part`from ended d`)}, ${nextOfChain({
    from: part`from ended e join chained c on c.id = e.task_id`,
    id: part`gen_random_uuid()`,
    endedAt: part`clock_timestamp()`,
  })}, history as (
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind, state, reason, error)
    select run_id, task_id, project_id, scheduled_for, clock_timestamp(), version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind,
           case when cancel_at is not null then 'cancelled'::run_state when attempt = 0 then 'skipped' else 'permanently_failed' end,
           case when cancel_at is null and attempt = 0 then 'queue_timeout' end,
           case when cancel_at is null and attempt > 0 then jsonb_build_object('code', 'queue_timeout', 'message',
             'The run waited for a worker for longer than the queueTimeout of its task.') end
    from ended
  ), ${wokenByEnds}
  select (select count(*)::integer from ended) as ended,
         coalesce((select jsonb_agg(jsonb_build_object('shard', shard, 'at', floor(extract(epoch from wake_at) * 1000)))
                   from (select * from next_of_chain union all select * from woken) following), '[]') as following`
