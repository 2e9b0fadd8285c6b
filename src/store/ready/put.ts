/**
 * The enqueueing half of the PostgreSQL transport. A run becomes pending and gets its row in `ready` in one statement, or
 * neither happens; so this half consists of parts of the statements that change live rows. Only this folder writes to `ready`.
 */
import { list, type Part, part, sql } from '../database/sql.ts'

/**
 * `queued`: inserts runs into `ready`, in their side lane if they have one. `from` provides the columns `lane, side, priority,
 * wake_at, run_id` of the agenda.
 */
export const queued = (from: Part): Part => part`queued as (
    insert into ready (lane, priority, wake_at, run_id) select coalesce(side, lane), priority, wake_at, run_id ${from}
  )`

/**
 * `dequeued`: deletes the `ready` rows of runs that have ended or are held again. `from` provides rows `d` of the agenda as
 * they waited. A row that a claim is just taking is left to it: the claim finds that the live row is no longer pending.
 */
export const dequeued = (from: Part): Part => part`dequeued as (
    delete from ready where ctid = any(array(
      select r.ctid ${from}
      join ready r on r.lane = coalesce(d.side, d.lane) and r.priority = d.priority and r.wake_at = d.wake_at and r.run_id = d.run_id
      for update of r skip locked))
  )`

/** A run in `ready`. */
export interface WaitingRun {
  readonly runId: string
  readonly lane: number
}

/** Removes runs that cannot be claimed from `ready`. */
export const takeOut = (runs: readonly WaitingRun[]) => sql`
  delete from ready where lane = any(${list(runs, (run) => run.lane)}::bigint[]) and run_id = any(${list(runs, (run) => run.runId)}::uuid[])`

/** Inserts pending runs without a row in `ready`. A run that was claimed meanwhile is left unchanged. */
export const requeueStranded = (runIds: readonly string[]) => sql<{ runId: string; wasRefused: boolean }>`
  with stranded as (
    select a.run_id, coalesce(a.side, a.lane) as lane, a.priority, a.wake_at from agenda a
    where a.run_id = any(${list(runIds, (id) => id)}::uuid[]) and a.state = 'pending'
      and not exists (
        select from ready r where r.lane = coalesce(a.side, a.lane) and r.priority = a.priority and r.wake_at = a.wake_at and r.run_id = a.run_id)
    for update of a
  )
  insert into ready (lane, priority, wake_at, run_id) select lane, priority, wake_at, run_id from stranded
  returning run_id as "runId", exists (
    select from refused_row f where f.operation = 'claim' and f.subject = ready.run_id::text and f.settled_at is null) as "wasRefused"`

/** Moves runs that wait in removed side lanes back to their own lanes, where a worker finds them. Other runs are left unchanged. */
export const leaveSideLanes = (lanes: readonly number[], limit: number) => sql<{ runId: string }>`
  with waiting as materialized (
    select r.ctid as place, r.run_id from unnest(${list(lanes, (id) => id)}::bigint[]) as l(id)
    join ready r on r.lane = l.id
    join agenda a on a.run_id = r.run_id and a.side = r.lane and a.state = 'pending'
    limit ${limit} for update of r skip locked
  ), left_behind as (
    delete from ready where ctid = any(array(select place from waiting)) returning run_id
  ), back as (
    update agenda a set side = null from left_behind b where a.run_id = b.run_id and a.state = 'pending'
    returning a.run_id, a.lane, a.side, a.priority, a.wake_at
  ), ${queued(part`from back`)}
  select run_id as "runId" from back`
