/** Fires due rows, each as the scheduler decided. */
import type { SkipReason } from '../../core/run/run.ts'
import { list, part, sql } from '../database/sql.ts'
import { queued } from '../ready/put.ts'
import type { CatchUpDecision } from './catch-up.ts'
import { decidedColumns, firedColumns, livingWorker, nextRows, ownedShards } from './fire-parts.ts'
import type { DueRow } from './look-ahead.ts'

/** What the scheduler decided about a due row. */
export interface Decision {
  /** Whether the row must not run while another run of its task is active: it is then skipped, or waits for its turn. */
  readonly exclusive: boolean
  /** Set for a row that may have to wait or has waited before: only `fireWithOverlap` fires it. */
  readonly overlap: OverlapDecision | null
  /** Set for a missed row that is neither simply run nor simply skipped: only `replaceMissed` handles it. */
  readonly catchUp: CatchUpDecision | null
  /** Occurrences, from the row's own on, that do not run, and why. Unless `runFor` is set, nothing runs at all. */
  readonly skip: Skip | null
  /** The latest missed occurrence, if the run is for it instead of the row's own. */
  readonly runFor: number | null
  /** Jitter of that occurrence, if it has any. */
  readonly runForJitterMs?: number | null
  /** The next occurrence to write. */
  readonly next: NextOccurrence | null
  /** Whether `next` applies only if the row is skipped: if it runs, it is the last one, or its end writes the next row. */
  readonly isLast: boolean
}

/** What happens to a row that cannot start now, because of an overlap or a blackout. */
export interface OverlapDecision {
  /** The row waits while fewer rows than this already wait. A catch-up run always waits. */
  readonly places: number
  /** Reason for skipping the row if that many already wait. */
  readonly beyond: SkipReason
  /** Whether the row replaces the rows that wait, and cancels the active runs. */
  readonly supersedes: boolean
  /** The earliest start: the end of a blackout. */
  readonly deferUntil: number | null
}

/** The next occurrence of a task. */
export interface NextOccurrence {
  readonly runId: string
  readonly at: number
  /** Its jitter, if it has any. */
  readonly jitterMs?: number
}

/** Occurrences that do not run, and why. */
export interface Skip {
  readonly runId: string
  readonly reason: SkipReason
  /** The last occurrence that the skip covers. */
  readonly until: number
  /** Number of occurrences that it covers; null if there were too many to count. */
  readonly count: number | null
}

/** The decision for most rows: run, regardless of other runs of the task, and write no next row. */
export const JUST_RUN: Decision = {
  exclusive: false,
  overlap: null,
  catchUp: null,
  skip: null,
  runFor: null,
  next: null,
  isLast: false,
}

/** A due row and the decision about it. */
export interface Firing {
  readonly row: DueRow
  readonly decision: Decision
  /** Whether the worker of this process, which has room, gets the run; otherwise the run goes to `ready`. */
  readonly startNow: boolean
  /** The side lane in which the run waits if it does not start because its line has no room. */
  readonly side?: number | null
}

/** A batch to fire, with the leases that permit it. */
export interface FireRequest {
  readonly nodeId: string
  /** The shards of the rows, with the fences under which this node owns them. */
  readonly shards: readonly { readonly id: number; readonly fence: number }[]
  readonly workerId: string | null
  readonly firings: readonly Firing[]
}

/** Result of a fire; lists only exceptions. */
export interface FireResult {
  /** False if the worker was declared dead: the runs that should have started wait in `ready` instead. */
  readonly isWorkerAlive: boolean
  /** Rows that changed since they were read, or whose shard has another owner by now. */
  readonly gone: readonly string[]
  /** Rows that were recorded as skipped because a run of their task is active. */
  readonly blocked: readonly string[]
  /** Shards that have another owner by now. */
  readonly lost: readonly number[]
}

/**
 * Fires rows of any kind: each becomes running or pending, or is recorded as skipped, and the next occurrence is written, all
 * in one statement. Overlap is decided by the statement's snapshot; the lock on the shard serialises these decisions, and no
 * two firings may belong to the same task.
 */
export const fire = ({ nodeId, shards, workerId, firings }: FireRequest) => sql<FireResult>`
  with ${ownedShards({ nodeId, shards })}, ${livingWorker(workerId)}, asked as materialized (
    select * from unnest(
      ${firedColumns(firings)},
      ${decidedColumns(firings)})
      as i(run_id, shard, fence, start_now, exclusive, side, skip_id, reason, until_ms, count, run_for_ms, next_run_id, next_ms, is_last, next_jitter_ms, run_for_jitter_ms)
  ), input as materialized (
    select asked.*, case when start_now then (select id from alive) end as worker_id, reason is null or run_for_ms is not null as runs
    from asked where shard in (select id from owned)
  ), blocked as materialized (
    select i.run_id from input i join agenda a on a.run_id = i.run_id
    where i.exclusive and i.runs and exists (
      select from agenda o where o.task_id = a.task_id and o.run_id <> a.run_id and o.state <> 'scheduled' and o.kind <> 'backfill')
  ), fired as (
    update agenda a set
      state = case when i.worker_id is null then 'pending'::agenda_state else 'running' end,
      worker_id = i.worker_id,
      claimed_at = case when i.worker_id is null then null else clock_timestamp() end,
      scheduled_for = coalesce(to_timestamp(i.run_for_ms / 1000), a.scheduled_for),
      jitter_ms = case when i.run_for_ms is null then a.jitter_ms else i.run_for_jitter_ms end,
      side = i.side,
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
    returning a.*, case when i.run_for_ms is null then coalesce(i.reason, 'overlap') else 'overlap' end as reason, i.run_for_ms,
              case when i.run_for_ms is null then i.until_ms end as until_ms, case when i.run_for_ms is null then i.count end as count
  ), ${nextRows({ decided: part`input`, fired: part`fired` })}, ${queued(part`from fired where state = 'pending'`)}, skips as (
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, ordinal_base, fence,
                     attempt, losses, kind, state, reason)
    select run_id, task_id, project_id, coalesce(to_timestamp(run_for_ms / 1000), scheduled_for), clock_timestamp(), to_timestamp(until_ms / 1000),
           count, version, ordinal, ordinal_base, fence, attempt, losses, kind, 'skipped'::run_state, reason
    from dropped
    union all
    select i.skip_id, f.task_id, f.project_id, f.scheduled_for, clock_timestamp(), to_timestamp(i.until_ms / 1000),
           i.count, f.version, f.ordinal, f.ordinal_base, 0, 0, 0, f.kind, 'skipped'::run_state, i.reason
    from input i join agenda f on f.run_id = i.run_id
    where i.run_for_ms is not null and i.run_id in (select run_id from fired union all select run_id from dropped)
  )
  select exists (select from alive) as "isWorkerAlive",
         array(select run_id from asked
               where run_id not in (select run_id from fired) and run_id not in (select run_id from dropped)) as gone,
         array(select run_id from dropped where run_id in (select run_id from blocked)) as blocked,
         array(select unnest(${list(shards, (s) => s.id)}::smallint[]) except select id from owned) as lost`
