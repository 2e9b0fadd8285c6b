/** The due index: reads rows that are due soon, and fires them. */

import type { AgendaKind, SkipReason } from '../../core/run/run.ts'
import { leftAlone } from '../database/left-alone.ts'
import { elements, list, part, reading, sql } from '../database/sql.ts'
import { queued } from '../ready/put.ts'
import type { CatchUpDecision } from './catch-up.ts'
import { decidedColumns, firedColumns, livingWorker, nextRows, ownedShards } from './fire-parts.ts'

/** A row that the scheduler handles when its instant comes. */
export interface DueRow {
  readonly runId: string
  readonly taskId: string
  readonly shard: number
  readonly kind: AgendaKind
  /** A `held` row waits for an earlier run to end, a `deferred` row for the end of a blackout. */
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

/** The shards and the time range to read. */
export interface Stretch {
  readonly shards: readonly number[]
  /** Null for no lower bound. */
  readonly from: number | null
  readonly until: number
  readonly limitPerShard: number
  /** Runs that the caller already knows, which are skipped. */
  readonly except?: readonly string[]
}

/** Due rows as PostgreSQL returns them: one array literal for each column, null if there are no rows. */
type DueColumns = Readonly<Record<keyof DueRow, string | null>>

/**
 * Reads the rows that come due in the given shards between two instants, except first attempts of catch-up runs. It scans one
 * index range per shard: a single `shard = any(…) order by wake_at` would read every row of all of them before returning the
 * first. The result is column-wise, because the driver takes five times as long for thousands of rows. Rows due at the same
 * instant are ordered by id, which is the order in which they were written: rows that are fired and ended together are then
 * neighbours in the table, which costs the database a quarter less.
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

/** Builds rows from columns. */
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

/** Rows to fire without conditions: either all of them start in the named worker, or all wait in `ready`. */
export interface PlainFireRequest extends Omit<FireRequest, 'firings'> {
  readonly rows: readonly DueRow[]
  /** The side lanes in which the rows wait, in the same order; null for a row that waits in its own lane. */
  readonly sides?: readonly (number | null)[]
}

/**
 * Fires rows without conditions. A row whose fence has moved since it was read is left unchanged, and so are all rows if one of
 * the shards has another owner by now: the key-share lock makes a new owner wait until this statement has ended. Only
 * exceptions are returned, because the caller knows what it requested.
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

/** `fired` is null if all rows were fired. */
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

/** Rows of recurring tasks that start in this process, each followed by the next occurrence of its task. */
export interface RecurringFireRequest extends Omit<FireRequest, 'firings' | 'workerId'> {
  readonly workerId: string
  readonly firings: readonly RecurringFiring[]
}

/** A due row and the next occurrence to write after it. */
export interface RecurringFiring {
  readonly row: DueRow
  readonly decision: Pick<Decision, 'exclusive' | 'next'>
}

/** The constraint that allows only one row per occurrence. */
export const ONE_ROW_AN_OCCURRENCE = 'agenda_occurrence_is_unique'

/** The rows that were not fired: the caller passes them to `fire`, which handles every case. */
export interface RecurringFireResult {
  readonly left: readonly string[]
}

/**
 * Fires rows of recurring tasks that start in the worker of this process, which is the common case, and writes the next
 * occurrence of each. It leaves a row unchanged and returns it if the row was edited, is blocked by another run of its task, or
 * has lost its shard or its worker. It is `fire` without the special cases: joining them is half of the cost. Tolerating a next
 * occurrence that already exists would make each insert a third more expensive, so it raises an error about
 * `ONE_ROW_AN_OCCURRENCE` instead, and nothing is fired.
 */
export const fireRecurring = (request: RecurringFireRequest) =>
  reading(updateRecurring(request), (answers): RecurringFireResult[] => {
    const rows = request.firings.map(({ row }) => row)
    return answers.map(({ fired }) => ({ left: leftAlone(rows, fired) }))
  })

const updateRecurring = ({ nodeId, shards, workerId, firings }: RecurringFireRequest) => sql<{
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
