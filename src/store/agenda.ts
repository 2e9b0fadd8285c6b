/** The due index: what comes due soon, and firing it. */
import type { RunKind, SkipReason } from '../core/run.ts'
import { columns, sql } from './sql.ts'

/** A row that somebody must look at when its instant comes. */
export interface DueRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly shard: number
  readonly kind: RunKind
  readonly state: 'scheduled' | 'retrying'
  readonly wakeAt: number
  readonly scheduledFor: number
  readonly version: number
  readonly ordinal: number
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
  select due.* from unnest(${q.shards}::smallint[]) as s(id)
  cross join lateral (
    select run_id as "runId", task_id as "taskId", project_id as "projectId", shard, kind, state, wake_at as "wakeAt",
           scheduled_for as "scheduledFor", version, ordinal
    from agenda
    where shard = s.id and wake_at < to_timestamp(${q.until}::float8 / 1000)
      and wake_at >= coalesce(to_timestamp(${q.from}::float8 / 1000), '-infinity')
      and state in ('scheduled', 'retrying')
    order by wake_at
    limit ${q.limitPerShard}
  ) due`

/** What the scheduler decided about one due row. */
export interface Firing {
  readonly runId: string
  readonly version: number
  /** Give it to the worker of this process, which has room; otherwise it waits in ready. */
  readonly startNow: boolean
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

export interface Skip {
  readonly runId: string
  readonly reason: SkipReason
  /** The last occurrence that the skip speaks for. */
  readonly until: number
  /** How many it speaks for; null when they were too many to count. */
  readonly count: number | null
}

export interface FireRequest {
  readonly nodeId: string
  /** The shards that the rows are in, with the fences this node holds them by. */
  readonly shards: readonly { readonly id: number; readonly fence: number }[]
  readonly workerId: string | null
  readonly firings: readonly Firing[]
}

export interface FiredRow {
  readonly runId: string
  readonly result: 'running' | 'pending' | 'skipped'
  readonly fence: number
  readonly attempt: number
  readonly losses: number
}

/**
 * Fires due rows: each turns running (a worker here is free), pending (with a row in ready) or is
 * recorded as skipped, and the next occurrence is written, all in one statement. It does nothing for a
 * row that is no longer as it was read, nor in a shard that has another owner by now: the key-share lock
 * makes a new owner wait until this statement has ended, which is what serialises overlap decisions.
 * No row of `firings` may share its task with another: the check for active runs would not see it.
 */
export function fire({ nodeId, shards, workerId, firings }: FireRequest) {
  const s = columns(shards, (x) => ({ id: x.id, fence: x.fence }))
  const c = columns(firings, (f) => ({
    runId: f.runId,
    version: f.version,
    startNow: f.startNow,
    exclusive: f.exclusive,
    skipId: f.skip?.runId ?? null,
    reason: f.skip?.reason ?? null,
    until: f.skip?.until ?? null,
    count: f.skip?.count ?? null,
    runFor: f.runFor,
    nextRunId: f.next?.runId ?? null,
    nextAt: f.next?.at ?? null,
    isLast: f.isLast,
  }))
  return sql<FiredRow>`
    with owned as (
      select id from shard
      where (id, fence) in (select * from unnest(${s.id}::smallint[], ${s.fence}::bigint[])) and owner = ${nodeId}::uuid
      for key share
    ), alive as (
      select id from node where id = ${workerId}::uuid and dead_at is null for key share
    ), input as materialized (
      select * from unnest(
        ${c.runId}::uuid[], ${c.version}::integer[], ${c.startNow}::boolean[], ${c.exclusive}::boolean[], ${c.skipId}::uuid[],
        ${c.reason}::text[], ${c.until}::float8[], ${c.count}::integer[], ${c.runFor}::float8[], ${c.nextRunId}::uuid[],
        ${c.nextAt}::float8[], ${c.isLast}::boolean[])
        as i(run_id, version, start_now, exclusive, skip_id, reason, until_ms, count, run_for_ms, next_run_id, next_ms, is_last)
    ), blocked as materialized (
      select i.run_id from input i join agenda a on a.run_id = i.run_id
      where i.exclusive and exists (
        select from agenda o where o.task_id = a.task_id and o.run_id <> a.run_id and o.state <> 'scheduled')
    ), fired as (
      update agenda a set
        state = case when i.start_now and exists (select from alive) then 'running'::agenda_state else 'pending' end,
        worker_id = case when i.start_now then (select id from alive) end,
        claimed_at = case when i.start_now then clock_timestamp() end,
        scheduled_for = coalesce(to_timestamp(i.run_for_ms / 1000), a.scheduled_for),
        fence = a.fence + 1,
        attempt = a.attempt + case when i.start_now and exists (select from alive) then 1 else 0 end
      from input i
      where a.run_id = i.run_id and a.version = i.version and a.state in ('scheduled', 'retrying')
        and (i.reason is null or i.run_for_ms is not null)
        and a.shard in (select id from owned) and i.run_id not in (select run_id from blocked)
      returning a.*
    ), dropped as (
      delete from agenda a using input i
      where a.run_id = i.run_id and a.version = i.version and a.state = 'scheduled'
        and a.shard in (select id from owned)
        and ((i.reason is not null and i.run_for_ms is null) or i.run_id in (select run_id from blocked))
      returning a.*, coalesce(i.reason, 'overlap') as reason, i.until_ms, i.count
    ), next as (
      insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, lane, priority, gate_key, delay_ms)
      select i.next_run_id, p.task_id, p.project_id, p.shard, to_timestamp(i.next_ms / 1000), to_timestamp(i.next_ms / 1000),
             p.version, p.ordinal + case when p.ran then 1 else 0 end, p.lane, p.priority, p.gate_key, p.delay_ms
      from input i
      join (
        select run_id, task_id, project_id, shard, version, ordinal, lane, priority, gate_key, delay_ms, true as ran from fired
        union all
        select run_id, task_id, project_id, shard, version, ordinal, lane, priority, gate_key, delay_ms, false from dropped
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
    select run_id as "runId", state::text as result, fence, attempt, losses from fired
    union all
    select run_id, 'skipped', fence, attempt, losses from dropped`
}
