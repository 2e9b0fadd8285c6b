/**
 * Fires rows that may have to wait for their turn: runs of tasks whose overlap policy queues or cancels, catch-up runs, and
 * rows that have waited before. It costs more than `fire`, so only rows that need it go through it.
 */

import { list, part, sql } from '../database/sql.ts'
import { dequeued, queued } from '../ready/put.ts'
import type { FireRequest, FireResult } from './fire.ts'
import { decidedColumns, firedColumns, livingWorker, nextRows, ownedShards } from './fire-parts.ts'

/** A row that waits for an earlier run, and when it is checked again. */
export interface HeldRow {
  readonly runId: string
  readonly wakeAt: number
}

/** Result of `fireWithOverlap`. */
export interface OverlapFireResult extends FireResult {
  /** Rows that wait: until an earlier run has ended, or for the end of a blackout. */
  readonly held: readonly HeldRow[]
}

/**
 * How soon a held row is checked again if nothing wakes it: the first in line, the others, and one whose predecessor was just
 * ending and so could not be marked as awaited.
 */
const LOOK_AGAIN_MS = { first: 1_000, behind: 5_000, missed: 50 } as const

/**
 * Fires rows in turn: each becomes running, pending, held or deferred, or is recorded as skipped, and the next occurrence is
 * written, all in one statement.
 *
 * A row is blocked while another run of its task is active, or is held and precedes it in the order of their instants, with
 * catch-up runs last. The limit on waiting rows counts all of them, including those due later: a trigger may have started to
 * wait while the row was late. The runs that a held row waits for are marked as awaited, so that their end wakes it. A run that
 * another transaction is just ending cannot be marked, and this statement does not wait for it, because that transaction waits
 * for this row. Pending catch-up runs become held again when a run of their task that is on time fires.
 */
export const fireWithOverlap = ({ nodeId, shards, workerId, firings }: FireRequest) => sql<OverlapFireResult>`
  with ${ownedShards({ nodeId, shards })}, ${livingWorker(workerId)}, asked as materialized (
    select * from unnest(
      ${firedColumns(firings)},
      ${list(firings, (f) => f.decision.overlap?.places ?? null)}::integer[], ${list(firings, (f) => f.decision.overlap?.beyond ?? null)}::text[],
      ${list(firings, (f) => f.decision.overlap?.supersedes ?? false)}::boolean[], ${list(firings, (f) => f.decision.overlap?.deferUntil ?? null)}::float8[],
      ${decidedColumns(firings)})
      as i(run_id, shard, fence, start_now, exclusive, side, places, beyond, supersedes, defer_ms, skip_id, reason, until_ms, count,
           run_for_ms, next_run_id, next_ms, is_last, next_jitter_ms, run_for_jitter_ms)
  ), input as materialized (
    select asked.*, case when start_now then (select id from alive) end as worker_id, a.task_id, a.state, a.kind = 'catchup' as is_catchup,
           a.scheduled_for as due_at
    from asked join agenda a on a.run_id = asked.run_id and a.fence = asked.fence
    where asked.shard in (select id from owned) and a.state in ('scheduled', 'held', 'deferred')
    for update of a
  ), yielding as materialized (
    select o.run_id, o.task_id, o.lane, o.side, o.priority, o.wake_at
    from input i join agenda o on o.task_id = i.task_id and o.run_id <> i.run_id
    where i.exclusive and not i.is_catchup and o.kind = 'catchup' and o.state = 'pending'
    for update of o skip locked
  ), active as materialized (
    select o.run_id, o.task_id from input i join agenda o on o.task_id = i.task_id and o.run_id <> i.run_id
    where i.exclusive and o.state in ('pending', 'running', 'retrying') and o.kind <> 'backfill' and o.run_id not in (select run_id from yielding)
  ), line as materialized (
    select i.run_id, count(*) filter (where (o.kind = 'catchup', o.scheduled_for, o.run_id) < (i.is_catchup, i.due_at, i.run_id))::integer as length,
           count(*) filter (where o.kind <> 'catchup')::integer as on_time
    from input i join agenda o on o.task_id = i.task_id and o.run_id <> i.run_id
    where i.exclusive and o.state = 'held'
    group by i.run_id
  ), judged as materialized (
    select i.*, coalesce(l.length, 0) as ahead,
           case when i.reason is not null and i.run_for_ms is null then 'skip'
                when i.defer_ms is not null then 'defer'
                when i.task_id not in (select task_id from active) and (i.supersedes or coalesce(l.length, 0) = 0) then 'fire'
                when i.state = 'held' or i.is_catchup or coalesce(l.on_time, 0) < i.places then 'hold'
                else 'drop' end as judgement
    from input i left join line l on l.run_id = i.run_id
  ), awaited as (
    update agenda set awaited = true
    where run_id in (
      select o.run_id from agenda o
      where o.run_id in (select a.run_id from active a join judged j on j.task_id = a.task_id where j.judgement = 'hold')
        and o.state in ('pending', 'running', 'retrying')
      for update skip locked)
    returning task_id
  ), stepped_back as (
    update agenda set state = 'held', fence = fence + 1, wake_at = date_trunc('milliseconds', clock_timestamp()) + ${LOOK_AGAIN_MS.first}::integer * interval '1 millisecond'
    where run_id in (select y.run_id from yielding y join judged j on j.task_id = y.task_id where j.judgement = 'fire')
    returning run_id, task_id
  ), ${dequeued(part`from (select * from yielding where task_id in (select task_id from judged where judgement = 'fire')) d`)}, replaced as (
    delete from agenda where run_id in (
      select o.run_id from judged j join agenda o on o.task_id = j.task_id and o.run_id <> j.run_id
      where j.supersedes and j.judgement in ('fire', 'hold') and o.state = 'held' and o.kind <> 'catchup' and o.delay_ms is null
        and (o.scheduled_for, o.run_id) < (j.due_at, j.run_id)
      union all
      select o.run_id from judged j join agenda o on o.task_id = j.task_id and o.run_id <> j.run_id
      where j.judgement = 'defer' and not j.is_catchup and o.state = 'deferred' and o.kind = 'occurrence' and o.delay_ms is null
        and (o.scheduled_for, o.run_id) < (j.due_at, j.run_id))
    returning run_id, task_id, project_id, scheduled_for, version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind,
              case when state = 'held' then 'overlap' else 'blackout' end as reason
  ), moved as (
    update agenda a set
      state = case j.judgement when 'hold' then 'held'::agenda_state when 'defer' then 'deferred'
                   else case when j.worker_id is null then 'pending'::agenda_state else 'running' end end,
      worker_id = case when j.judgement = 'fire' then j.worker_id end,
      claimed_at = case when j.judgement = 'fire' and j.worker_id is not null then clock_timestamp() end,
      scheduled_for = coalesce(to_timestamp(j.run_for_ms / 1000), a.scheduled_for),
      jitter_ms = case when j.run_for_ms is null then a.jitter_ms else j.run_for_jitter_ms end,
      side = j.side,
      wake_at = case j.judgement
        when 'defer' then to_timestamp(j.defer_ms / 1000)
        when 'hold' then date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond' * case
          when j.ahead > 0 and not j.supersedes then ${LOOK_AGAIN_MS.behind}::integer
          when j.task_id in (select task_id from awaited) then ${LOOK_AGAIN_MS.first}::integer
          else ${LOOK_AGAIN_MS.missed}::integer end
        else a.wake_at end,
      awaited = j.judgement = 'fire' and exists (
        select from agenda o where o.task_id = a.task_id and o.run_id <> a.run_id
          and (o.state = 'held' or o.run_id in (select run_id from stepped_back))),
      fence = a.fence + 1,
      attempt = a.attempt + case when j.judgement = 'fire' and j.worker_id is not null then 1 else 0 end
    from judged j
    where a.run_id = j.run_id and j.judgement in ('fire', 'hold', 'defer')
    returning a.*, j.judgement
  ), dropped as (
    delete from agenda a using judged j
    where a.run_id = j.run_id and j.judgement in ('skip', 'drop')
    returning a.*, case when j.judgement = 'drop' then j.beyond else j.reason end as reason, j.judgement, j.run_for_ms,
              case when j.run_for_ms is null then j.until_ms end as until_ms, case when j.run_for_ms is null then j.count end as count
  ), ${nextRows({ decided: part`judged`, fired: part`moved` })}, ${queued(part`from moved where judgement = 'fire' and state = 'pending'`)}, skips as (
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, ordinal_base, fence,
                     late_ms, attempt, losses, kind, state, reason)
    select run_id, task_id, project_id, coalesce(to_timestamp(run_for_ms / 1000), scheduled_for), clock_timestamp(), to_timestamp(until_ms / 1000),
           count, version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind, 'skipped'::run_state, reason
    from dropped
    union all
    select run_id, task_id, project_id, scheduled_for, clock_timestamp(), null, null, version, ordinal, ordinal_base,
           fence, late_ms, attempt, losses, kind, 'skipped'::run_state, reason
    from replaced
    union all
    select j.skip_id, f.task_id, f.project_id, f.scheduled_for, clock_timestamp(), to_timestamp(j.until_ms / 1000),
           j.count, f.version, f.ordinal, f.ordinal_base, 0, null, 0, 0, f.kind, 'skipped'::run_state, j.reason
    from judged j join agenda f on f.run_id = j.run_id
    where j.run_for_ms is not null and j.run_id in (select run_id from moved union all select run_id from dropped)
  )
  select exists (select from alive) as "isWorkerAlive",
         array(select run_id from asked
               where run_id not in (select run_id from moved) and run_id not in (select run_id from dropped)) as gone,
         array(select run_id from dropped where judgement = 'drop') as blocked,
         array(select unnest(${list(shards, (s) => s.id)}::smallint[]) except select id from owned) as lost,
         coalesce((select jsonb_agg(jsonb_build_object('runId', run_id, 'wakeAt', round(extract(epoch from wake_at) * 1000)))
                   from moved where judgement <> 'fire'), '[]') as held`
