/** The due index: what comes due soon, and firing it. */
import type { RunKind, SkipReason } from '../core/run.ts'
import { list, sql } from './sql.ts'

/** A row that somebody must look at when its instant comes. */
export interface DueRow {
  readonly runId: string
  readonly taskId: string
  readonly shard: number
  readonly kind: RunKind
  readonly state: 'scheduled' | 'retrying'
  readonly wakeAt: number
  readonly scheduledFor: number
  readonly version: number
  readonly ordinal: number
  readonly fence: number
  readonly attempt: number
  readonly losses: number
  readonly lane: number
  readonly priority: number
}

/**
 * Reads what comes due in the given shards between two instants. One index range a shard: a single
 * `shard = any(…) order by wake_at` would read every row of all of them before it knew the first.
 */
export const lookAhead = (q: {
  shards: readonly number[]
  from: number | null
  until: number
  limitPerShard: number
}) => sql<DueRow>`
  select due.* from unnest(${list(q.shards, (id) => id)}::smallint[]) as s(id)
  cross join lateral (
    select run_id as "runId", task_id as "taskId", shard, kind, state, wake_at as "wakeAt", scheduled_for as "scheduledFor",
           version, ordinal, fence, attempt, losses, lane, priority
    from agenda
    where shard = s.id and wake_at < to_timestamp(${q.until}::float8 / 1000)
      and wake_at >= coalesce(to_timestamp(${q.from}::float8 / 1000), '-infinity')
      and state in ('scheduled', 'retrying')
    order by wake_at
    limit ${q.limitPerShard}
  ) due`

/** What the scheduler decided about a due row. */
export interface Decision {
  /** Skip it when another run of its task is active. */
  readonly exclusive: boolean
  /** Occurrences from the row's own on that do not run, and why. Without `runFor` nothing runs at all. */
  readonly skip: Skip | null
  /** Run it for a later occurrence than the row stands for: the latest of those that were missed. */
  readonly runFor: number | null
  /** The row that follows. A `delay` row that runs has none: its end writes it. */
  readonly next: { readonly runId: string; readonly at: number } | null
  /** The task may run this once more and not again, so `next` is only for the case that it does not run. */
  readonly isLast: boolean
}

/** Occurrences that do not run, and why. */
export interface Skip {
  readonly runId: string
  readonly reason: SkipReason
  /** The last occurrence that the skip speaks for. */
  readonly until: number
  /** How many it speaks for; null when they were too many to count. */
  readonly count: number | null
}

/** The decision about most rows: run it, whatever else the task may be doing, and nothing follows. */
export const JUST_RUN: Decision = { exclusive: false, skip: null, runFor: null, next: null, isLast: false }

/** A due row and what shall become of it. */
export interface Firing {
  readonly row: DueRow
  readonly decision: Decision
  /** Give it to the worker of this process, which has room; otherwise it waits in ready. */
  readonly startNow: boolean
}

/** A batch to fire, and by what right. */
export interface FireRequest {
  readonly nodeId: string
  /** The shards that the rows are in, with the fences this node holds them by. */
  readonly shards: readonly { readonly id: number; readonly fence: number }[]
  readonly workerId: string | null
  readonly firings: readonly Firing[]
}

/** What came of a fire, as far as it is not what was asked for. */
export interface FireResult {
  /** False when the worker was declared dead: what should have started waits in ready instead. */
  readonly isWorkerAlive: boolean
  /** Rows that were no longer as they were read, or are in a shard that has another owner by now. */
  readonly gone: readonly string[]
  /** Rows that were recorded as skipped because a run of their task is active. */
  readonly blocked: readonly string[]
}

/**
 * Fires rows that just run. It does nothing for a row whose fence has moved since it was read, nor in a
 * shard that has another owner by now: the key-share lock makes a new owner wait until this statement has
 * ended. Only exceptions are answered, because the caller knows what it asked for. Ownership is decided on
 * the asked rows and not in the update: there the planner would take it for a way to find rows, and read
 * whole shards.
 */
export const fireAsTheyAre = ({ nodeId, shards, workerId, firings }: FireRequest) => sql<FireResult>`
  with owned as (
    select id from shard
    where (id, fence) in (select * from unnest(${list(shards, (s) => s.id)}::smallint[], ${list(shards, (s) => s.fence)}::bigint[]))
      and owner = ${nodeId}::uuid
    for key share
  ), alive as materialized (
    select id from node where id = ${workerId}::uuid and dead_at is null for key share
  ), asked as materialized (
    select * from unnest(
      ${list(firings, (f) => f.row.runId)}::uuid[], ${list(firings, (f) => f.row.shard)}::smallint[],
      ${list(firings, (f) => f.row.fence)}::integer[], ${list(firings, (f) => f.startNow)}::boolean[])
      as i(run_id, shard, fence, start_now)
  ), input as materialized (
    select run_id, fence, case when start_now then (select id from alive) end as worker_id
    from asked where shard in (select id from owned)
  ), fired as (
    update agenda a set
      state = case when i.worker_id is null then 'pending'::agenda_state else 'running' end,
      worker_id = i.worker_id,
      claimed_at = case when i.worker_id is null then null else clock_timestamp() end,
      fence = a.fence + 1,
      attempt = a.attempt + case when i.worker_id is null then 0 else 1 end
    from input i
    where a.run_id = i.run_id and a.fence = i.fence and a.state in ('scheduled', 'retrying')
    returning a.run_id, a.state, a.lane, a.priority, a.wake_at
  ), queued as (
    insert into ready (lane, priority, wake_at, run_id)
    select lane, priority, wake_at, run_id from fired where state = 'pending'
  )
  select exists (select from alive) as "isWorkerAlive",
         array(select run_id from asked where run_id not in (select run_id from fired)) as gone, '{}'::uuid[] as blocked`

/**
 * Fires rows of any kind: each turns running, pending, or is recorded as skipped, and the next occurrence
 * is written, all in one statement. Overlap is decided by what this statement sees; the shard's lock
 * serialises such decisions, and no two of the firings may belong to one task.
 */
export const fire = ({ nodeId, shards, workerId, firings }: FireRequest) => sql<FireResult>`
  with owned as (
    select id from shard
    where (id, fence) in (select * from unnest(${list(shards, (s) => s.id)}::smallint[], ${list(shards, (s) => s.fence)}::bigint[]))
      and owner = ${nodeId}::uuid
    for key share
  ), alive as materialized (
    select id from node where id = ${workerId}::uuid and dead_at is null for key share
  ), asked as materialized (
    select * from unnest(
      ${list(firings, (f) => f.row.runId)}::uuid[], ${list(firings, (f) => f.row.shard)}::smallint[],
      ${list(firings, (f) => f.row.fence)}::integer[],
      ${list(firings, (f) => f.startNow)}::boolean[], ${list(firings, (f) => f.decision.exclusive)}::boolean[],
      ${list(firings, (f) => f.decision.skip?.runId ?? null)}::uuid[], ${list(firings, (f) => f.decision.skip?.reason ?? null)}::text[],
      ${list(firings, (f) => f.decision.skip?.until ?? null)}::float8[], ${list(firings, (f) => f.decision.skip?.count ?? null)}::integer[],
      ${list(firings, (f) => f.decision.runFor)}::float8[], ${list(firings, (f) => f.decision.next?.runId ?? null)}::uuid[],
      ${list(firings, (f) => f.decision.next?.at ?? null)}::float8[], ${list(firings, (f) => f.decision.isLast)}::boolean[])
      as i(run_id, shard, fence, start_now, exclusive, skip_id, reason, until_ms, count, run_for_ms, next_run_id, next_ms, is_last)
  ), input as materialized (
    select asked.*, case when start_now then (select id from alive) end as worker_id, reason is null or run_for_ms is not null as runs
    from asked where shard in (select id from owned)
  ), blocked as materialized (
    select i.run_id from input i join agenda a on a.run_id = i.run_id
    where i.exclusive and i.runs and exists (
      select from agenda o where o.task_id = a.task_id and o.run_id <> a.run_id and o.state <> 'scheduled')
  ), fired as (
    update agenda a set
      state = case when i.worker_id is null then 'pending'::agenda_state else 'running' end,
      worker_id = i.worker_id,
      claimed_at = case when i.worker_id is null then null else clock_timestamp() end,
      scheduled_for = coalesce(to_timestamp(i.run_for_ms / 1000), a.scheduled_for),
      fence = a.fence + 1,
      attempt = a.attempt + case when i.worker_id is null then 0 else 1 end
    from input i
    where a.run_id = i.run_id and a.fence = i.fence and a.state in ('scheduled', 'retrying')
      and i.runs and i.run_id not in (select run_id from blocked)
    returning a.*
  ), dropped as (
    delete from agenda a using input i
    where a.run_id = i.run_id and a.fence = i.fence and a.state = 'scheduled'
      and (not i.runs or i.run_id in (select run_id from blocked))
    returning a.*, coalesce(i.reason, 'overlap') as reason, i.until_ms, i.count
  ), next as (
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, lane, priority, delay_ms)
    select i.next_run_id, p.task_id, p.project_id, p.shard, to_timestamp(i.next_ms / 1000), to_timestamp(i.next_ms / 1000),
           p.version, p.ordinal + case when p.ran then 1 else 0 end, p.lane, p.priority, p.delay_ms
    from input i
    join (
      select run_id, task_id, project_id, shard, version, ordinal, lane, priority, delay_ms, true as ran from fired
      union all
      select run_id, task_id, project_id, shard, version, ordinal, lane, priority, delay_ms, false from dropped
    ) p on p.run_id = i.run_id
    where i.next_run_id is not null and not (p.ran and (i.is_last or p.delay_ms is not null))
    on conflict on constraint agenda_occurrence_is_unique do nothing
  ), queued as (
    insert into ready (lane, priority, wake_at, run_id)
    select lane, priority, wake_at, run_id from fired where state = 'pending'
  ), skips as (
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, fence,
                     attempt, losses, kind, state, reason)
    select run_id, task_id, project_id, scheduled_for, clock_timestamp(), to_timestamp(until_ms / 1000), count, version, ordinal,
           fence, attempt, losses, kind, 'skipped'::run_state, reason
    from dropped
    union all
    select i.skip_id, f.task_id, f.project_id, f.scheduled_for, clock_timestamp(), to_timestamp(i.until_ms / 1000),
           i.count, f.version, f.ordinal, 0, 0, 0, f.kind, 'skipped'::run_state, i.reason
    from input i join agenda f on f.run_id = i.run_id
    where i.run_for_ms is not null and i.run_id in (select run_id from fired)
  )
  select exists (select from alive) as "isWorkerAlive",
         array(select run_id from asked
               where run_id not in (select run_id from fired) and run_id not in (select run_id from dropped)) as gone,
         array(select run_id from dropped where run_id in (select run_id from blocked)) as blocked`
