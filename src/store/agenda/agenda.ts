/** The due index: what comes due soon, and firing it. */

import type { AgendaKind, SkipReason } from '../../core/run/run.ts'
import { leftAlone } from '../database/left-alone.ts'
import { elements, list, part, reading, sql } from '../database/sql.ts'
import { queued } from '../ready/put.ts'
import type { Recovery } from './catch-up.ts'
import { decidedColumns, firedColumns, livingWorker, nextRows, ownedShards } from './fire-parts.ts'

/** A row that somebody must look at when its instant comes. */
export interface DueRow {
  readonly runId: string
  readonly taskId: string
  readonly shard: number
  readonly kind: AgendaKind
  /** What is `held` waits for an earlier run to end, what is `deferred` for the end of a blackout. */
  readonly state: 'scheduled' | 'retrying' | 'held' | 'deferred'
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

/** A stretch of time to read. */
export interface Stretch {
  readonly shards: readonly number[]
  /** Null: from the beginning of time. */
  readonly from: number | null
  readonly until: number
  readonly limitPerShard: number
  /** Runs that are known already, and are passed over. */
  readonly except?: readonly string[]
}

/** Due rows as they travel: a column of all of them in one array literal each, null when there is none. */
type DueColumns = Readonly<Record<keyof DueRow, string | null>>

/**
 * Reads what comes due in the given shards between two instants, but for what makes up for an outage. One index range a shard: a single
 * `shard = any(…) order by wake_at` would read every row of all of them before it knew the first. The answer
 * comes by columns: as thousands of rows the driver would spend five times as long on it. What is due at one instant
 * comes by id, which is the order it was written in: rows that are fired and ended together are then neighbours in the
 * table, and a quarter cheaper for the database.
 */
export const lookAhead = (q: Stretch) => reading(selectDue(q), dueRows)

const selectDue = (q: Stretch) => sql<DueColumns>`
  select array_agg(run_id)::text as "runId", array_agg(task_id)::text as "taskId", array_agg(shard)::text as shard,
         array_agg(kind)::text as kind, array_agg(state)::text as state, array_agg(date_part('epoch', wake_at) * 1000)::text as "wakeAt",
         array_agg(date_part('epoch', scheduled_for) * 1000)::text as "scheduledFor", array_agg(version)::text as version,
         array_agg(count_of(ordinal_base, ordinal))::text as ordinal, array_agg(fence)::text as fence, array_agg(attempt)::text as attempt,
         array_agg(losses)::text as losses, array_agg(lane)::text as lane, array_agg(priority)::text as priority
  from (
    select due.* from unnest(${list(q.shards, (id) => id)}::smallint[]) as s(id)
    cross join lateral (
      select run_id, task_id, shard, kind, state, wake_at, scheduled_for, version, ordinal, ordinal_base, fence, attempt, losses, lane, priority
      from agenda
      where shard = s.id and wake_at < to_timestamp(${q.until}::float8 / 1000)
        and wake_at >= coalesce(to_timestamp(${q.from}::float8 / 1000), '-infinity')
        and state in ('scheduled', 'retrying', 'held', 'deferred') and (kind <> 'catchup' or state = 'retrying')
        and run_id <> all(${list(q.except ?? [], (id) => id)}::uuid[])
      order by wake_at
      limit ${q.limitPerShard}
    ) due
    order by wake_at, run_id
  ) due`

/** Rows from their columns. */
function dueRows([columns]: readonly DueColumns[]): DueRow[] {
  if (!columns) return []
  const words = (name: keyof DueRow) => elements(columns[name])
  const numbers = (name: keyof DueRow) => words(name).map(Number)
  const taskId = words('taskId')
  const kind = words('kind') as AgendaKind[]
  const state = words('state') as DueRow['state'][]
  const [shard, wakeAt, scheduledFor] = [numbers('shard'), numbers('wakeAt'), numbers('scheduledFor')]
  const [version, ordinal, fence] = [numbers('version'), numbers('ordinal'), numbers('fence')]
  const [attempt, losses, lane, priority] = [
    numbers('attempt'),
    numbers('losses'),
    numbers('lane'),
    numbers('priority'),
  ]
  return words('runId').map(
    (runId, i) =>
      ({
        runId,
        taskId: taskId[i],
        shard: shard[i],
        kind: kind[i],
        state: state[i],
        wakeAt: Math.round(wakeAt[i] ?? 0),
        scheduledFor: Math.round(scheduledFor[i] ?? 0),
        version: version[i],
        ordinal: ordinal[i],
        fence: fence[i],
        attempt: attempt[i],
        losses: losses[i],
        lane: lane[i],
        priority: priority[i],
      }) as DueRow,
  )
}

/** What the scheduler decided about a due row. */
export interface Decision {
  /** Not while another run of its task is active: it is skipped then, or waits for its turn. */
  readonly exclusive: boolean
  /** Set for a row that may have to wait, or waited before: only `fireWithOverlap` fires it. */
  readonly turn: Turn | null
  /** Set for a row that was missed and is not simply run or skipped: only `recover` carries it out. */
  readonly recovery: Recovery | null
  /** Occurrences from the row's own on that do not run, and why. Without `runFor` nothing runs at all. */
  readonly skip: Skip | null
  /** Run it for a later occurrence than the row stands for: the latest of those that were missed. */
  readonly runFor: number | null
  /** By how much that one is put off, if it is. */
  readonly runForJitterMs?: number | null
  /** The row that follows. */
  readonly next: NextOccurrence | null
  /** `next` is only for the case that it does not run: it is the last, or its end writes what follows. */
  readonly isLast: boolean
}

/** What becomes of a row that cannot start now. */
export interface Turn {
  /** It waits while fewer than this wait already. One that makes up for an outage always waits. */
  readonly places: number
  /** Why it is skipped when there are as many. */
  readonly beyond: SkipReason
  /** It takes the place of those that wait, and the runs that are active are cancelled for it. */
  readonly supersedes: boolean
  /** It starts at this instant at the earliest, when a blackout is over. */
  readonly deferUntil: number | null
}

/** The row that follows. */
export interface NextOccurrence {
  readonly runId: string
  readonly at: number
  /** By how much it is put off, if it is. */
  readonly jitterMs?: number
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
export const JUST_RUN: Decision = {
  exclusive: false,
  turn: null,
  recovery: null,
  skip: null,
  runFor: null,
  next: null,
  isLast: false,
}

/** A due row and what shall become of it. */
export interface Firing {
  readonly row: DueRow
  readonly decision: Decision
  /** Give it to the worker of this process, which has room; otherwise it waits in ready. */
  readonly startNow: boolean
  /** The side lane that it waits in when it does not start, because there is no room for it. */
  readonly side?: number | null
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
  /** Shards that have another owner by now. */
  readonly lost: readonly number[]
}

/** Rows that just run: all of them start in the worker that is named, or all wait in ready. */
export interface PlainFireRequest extends Omit<FireRequest, 'firings'> {
  readonly rows: readonly DueRow[]
  /** The side lanes that they wait in, in the same order; null for those that wait in their own. */
  readonly sides?: readonly (number | null)[]
}

/**
 * Fires rows that just run. It does nothing for a row whose fence has moved since it was read, and nothing
 * at all when one of the shards has another owner by now: the key-share lock makes a new owner wait until
 * this statement has ended. Only exceptions are answered, because the caller knows what it asked for.
 */
export const firePlain = (request: PlainFireRequest) =>
  reading(updatePlain(request), (answers): FireResult[] =>
    answers.map(({ isWorkerAlive, fired, lost }) => ({
      isWorkerAlive,
      gone: leftAlone(request.rows, fired),
      blocked: [],
      lost,
    })),
  )

/** `fired` is null when all of them were. */
interface PlainFireAnswer extends Omit<FireResult, 'gone' | 'blocked'> {
  readonly fired: readonly string[] | null
}

const updatePlain = ({
  nodeId,
  shards,
  workerId,
  rows,
  sides = [],
}: PlainFireRequest) => sql<PlainFireAnswer>`
  with ${ownedShards({ nodeId, shards })}, ${livingWorker(workerId)}, fired as (
    update agenda a set
      state = case when (select id from alive) is null then 'pending'::agenda_state else 'running' end,
      worker_id = (select id from alive),
      claimed_at = case when (select id from alive) is null then null else clock_timestamp() end,
      side = i.side,
      fence = a.fence + 1,
      attempt = a.attempt + (select count(*)::integer from alive)
    from unnest(${list(rows, (r) => r.runId)}::uuid[], ${list(rows, (r) => r.fence)}::integer[], ${list(sides, (s) => s)}::bigint[])
      as i(run_id, fence, side)
    where a.run_id = i.run_id and a.fence = i.fence and a.state in ('scheduled', 'retrying')
      and (select count(*) from owned) = ${shards.length}::integer
    returning a.run_id, a.lane, a.side, a.priority, a.wake_at
  ), ${queued(part`from fired where not exists (select from alive)`)}
  select exists (select from alive) as "isWorkerAlive",
         case when (select count(*) from fired) <> ${rows.length}::integer then array(select run_id from fired) end as fired,
         array(select unnest(${list(shards, (s) => s.id)}::smallint[]) except select id from owned) as lost`

/** Rows that start here, each followed by the next occurrence of its task. */
export interface FollowedFireRequest extends Omit<FireRequest, 'firings' | 'workerId'> {
  readonly workerId: string
  readonly firings: readonly FollowedFiring[]
}

/** A due row, and the one that follows. */
export interface FollowedFiring {
  readonly row: DueRow
  readonly decision: Pick<Decision, 'exclusive' | 'next'>
}

/** The constraint by which an occurrence has one row, whoever writes it. */
export const ONE_ROW_AN_OCCURRENCE = 'agenda_occurrence_is_unique'

/** What came of it: rows that were not fired need `fire`, which knows what to do with them. */
export interface FollowedFireResult {
  readonly left: readonly string[]
}

/**
 * Fires rows of recurring tasks that start in the worker of this process, as most do, and writes the next
 * occurrence of each. What was edited, is held up by another run of its task, or has lost its shard or its
 * worker is left alone and answered. It is `fire` without the cases: half of what that costs is joining them.
 * To be ready for a next occurrence that somebody else has written would make each insert a third dearer, so that is
 * an error about `ONE_ROW_AN_OCCURRENCE` instead, after which nothing has been fired.
 */
export const fireRecurring = (request: FollowedFireRequest) =>
  reading(updateFollowed(request), (answers): FollowedFireResult[] => {
    const rows = request.firings.map(({ row }) => row)
    return answers.map(({ fired }) => ({ left: leftAlone(rows, fired) }))
  })

const updateFollowed = ({ nodeId, shards, workerId, firings }: FollowedFireRequest) => sql<{
  fired: readonly string[] | null
}>`
  with ${ownedShards({ nodeId, shards })}, ${livingWorker(workerId)}, fired as (
    update agenda a set state = 'running', worker_id = (select id from alive), claimed_at = clock_timestamp(), fence = a.fence + 1,
      attempt = a.attempt + 1
    from unnest(
      ${list(firings, (f) => f.row.runId)}::uuid[], ${list(firings, (f) => f.row.fence)}::integer[],
      ${list(firings, (f) => f.decision.exclusive)}::boolean[], ${list(firings, (f) => f.decision.next?.runId ?? null)}::uuid[],
      ${list(firings, (f) => f.decision.next?.at ?? null)}::float8[]) as i(run_id, fence, exclusive, next_run_id, next_ms)
    where a.run_id = i.run_id and a.fence = i.fence and a.state = 'scheduled' and a.delay_ms is null
      and (select count(*) from owned) = ${shards.length}::integer and (select count(*) from alive) = 1
      and not (i.exclusive and exists (
        select from agenda o where o.task_id = a.task_id and o.run_id <> a.run_id and o.state <> 'scheduled' and o.kind <> 'backfill'))
    returning a.run_id, a.task_id, a.project_id, a.shard, a.version, count_of(a.ordinal_base, a.ordinal) as count, a.lane, a.priority,
              i.next_run_id, i.next_ms
  ), next as (
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, ordinal_base, lane, priority)
    select next_run_id, task_id, project_id, shard, to_timestamp(next_ms / 1000), to_timestamp(next_ms / 1000), version,
           part_of_count(count + 1), base_of_count(count + 1), lane, priority
    from fired
  )
  select case when (select count(*) from fired) <> ${firings.length}::integer then array(select run_id from fired) end as fired`

/**
 * Fires rows of any kind: each turns running, pending, or is recorded as skipped, and the next occurrence
 * is written, all in one statement. Overlap is decided by what this statement sees; the shard's lock
 * serialises such decisions, and no two of the firings may belong to one task.
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
