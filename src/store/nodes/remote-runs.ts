/** The runs that remote workers lease, the results they have reported, and their progress. */
import { SHARD_COUNT } from '../../core/ids.ts'
import type { RunKind } from '../../core/run/run.ts'
import { list, sql } from '../database/sql.ts'

/** A run leased to a worker, with what is needed to process a report about it. */
export interface LeasedRunRow {
  readonly runId: string
  readonly taskId: string
  readonly version: number
  /** Null for an occurrence, the most common kind. */
  readonly kind: RunKind | null
  readonly scheduledFor: number
  readonly wakeAt: number
  readonly claimedAt: number
  readonly fence: number
  readonly attempt: number
  readonly losses: number
  readonly isCancelled: boolean
  readonly cancelledAt: number | null
  readonly holdsPlace: boolean
}

/** When a worker was given a run, which it then starts at once: no worker is given a run before its instant. */
export const givenAt = ({ claimedAt, wakeAt, scheduledFor }: LeasedRunRow): number =>
  Math.max(claimedAt, wakeAt, scheduledFor)

/** The same for any remote worker, and whether the worker still names the run. */
export interface RemoteWork extends LeasedRunRow {
  /** Whether the worker names its runs, and has not named this one for the duration of a lease. */
  readonly isUnnamed: boolean
  /** Whether the worker has named it before. */
  readonly wasNamed: boolean
}

/** Returns which of the given runs a worker leases; none if it is dead. A worker may not change runs that it does not lease. */
export const runsLeasedTo = ({ workerId, runIds }: { workerId: string; runIds: readonly string[] }) =>
  sql<LeasedRunRow>`
  select run_id as "runId", task_id as "taskId", version, nullif(kind, 'occurrence') as kind, scheduled_for as "scheduledFor", wake_at as "wakeAt", claimed_at as "claimedAt",
         fence, attempt, losses, cancel_at is not null as "isCancelled", cancel_at as "cancelledAt", num_nonnulls(gate_id, queue_gate_id, holds_project_place) > 0 as "holdsPlace"
  from agenda
  where run_id = any(${list(runIds, (id) => id)}::uuid[]) and worker_id = ${workerId} and state = 'running'
    and exists (select from node where id = ${workerId} and dead_at is null)`

/** Returns one row if any remote worker is alive. */
export const livesRemote = () => sql<{ id: string }>`
  select n.id from node n join remote_worker w on w.id = n.id where n.dead_at is null limit 1`

/**
 * Returns all runs leased to remote workers. There is no index by worker; running rows have come due, so each shard is read from
 * its beginning up to now, and no future rows are read.
 */
export const workOfRemotes = (leaseMs: number) => sql<RemoteWork>`
  select a.*, m.run_id is not null as "wasNamed",
         coalesce(n.dead_at is null and n.named_at > now() - l.half and n.naming_since < now() - l.whole
                  and a."claimedAt" < now() - l.whole and (m.at is null or m.at < now() - l.whole), false) as "isUnnamed"
  from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
  cross join (
    select make_interval(secs => ${leaseMs}::float8 / 1000) as whole, make_interval(secs => ${leaseMs}::float8 / 2000) as half
  ) l
  cross join lateral (
    select run_id as "runId", task_id as "taskId", version, nullif(kind, 'occurrence') as kind, scheduled_for as "scheduledFor",
           wake_at as "wakeAt", claimed_at as "claimedAt", fence, attempt, losses, cancel_at is not null as "isCancelled",
           cancel_at as "cancelledAt", num_nonnulls(gate_id, queue_gate_id, holds_project_place) > 0 as "holdsPlace", worker_id
    from agenda
    where shard = s.id and wake_at <= now() + interval '1 second' and state = 'running'
  ) a
  join node n on n.id = a.worker_id
  left join named_run m on m.run_id = a."runId" and m.fence = a.fence
  where exists (select from remote_worker w where w.id = a.worker_id)`

/** A run and the fence of its lease. */
interface Lease {
  readonly runId: string
  readonly fence: number
}

/** The stored result of an attempt. */
export interface StoredAttempt extends Lease {
  readonly outcome: string
  readonly output: unknown
  readonly errorCode: string | null
}

/** Returns the stored results of those of the given attempts that belonged to the worker. */
export const storedAmong = ({ workerId, leases }: { workerId: string; leases: readonly Lease[] }) =>
  sql<StoredAttempt>`
  with asked as materialized (
    select * from unnest(${list(leases, (l) => l.runId)}::uuid[], ${list(leases, (l) => l.fence)}::integer[]) as i(run_id, fence)
  )
  select i.run_id as "runId", i.fence, e.outcome, e.output, e.error ->> 'code' as "errorCode"
  from asked i
  cross join lateral (
    select r.outcome, r.output, r.error from run r
    where r.run_id = i.run_id and r.fence = i.fence and r.worker_id = ${workerId} and r.ended_at > now() - interval '1 day'
    union all
    select a.outcome, a.output, a.error from attempt a
    where a.run_id = i.run_id and a.fence = i.fence and a.worker_id = ${workerId} and a.ended_at > now() - interval '1 day'
  ) e`

/** The progress that an attempt reports. */
export interface AttemptProgress {
  /** From 0 to 1; null if only a message was given. */
  readonly fraction: number | null
  readonly message: string | null
}

export const saveProgress = (reports: readonly (Lease & AttemptProgress)[]) => sql`
  insert into progress (run_id, fence, fraction, message)
  select * from unnest(${list(reports, (r) => r.runId)}::uuid[], ${list(reports, (r) => r.fence)}::integer[],
                       ${list(reports, (r) => r.fraction)}::real[], ${list(reports, (r) => r.message)}::text[])
  on conflict (run_id) do update
  set fence = excluded.fence, fraction = excluded.fraction, message = excluded.message, at = clock_timestamp()`

/** Returns the progress of the attempt that leases a run under this fence. */
export const progressOf = ({ runId, fence }: Lease) => sql<AttemptProgress & { readonly at: number }>`
  select fraction, message, at from progress where run_id = ${runId} and fence = ${fence}`

/** Deletes progress that is no longer needed: its run has ended, or it was not updated for a day. */
export const deleteStaleProgress = (limit: number) => sql`
  delete from progress where ctid = any(array(
    select p.ctid from progress p
    where p.at < now() - interval '1 day' or not exists (select from agenda a where a.run_id = p.run_id)
    limit ${limit}))`
