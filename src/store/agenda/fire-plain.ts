/** Fires due rows that simply run, which are most of them. */
import { leftAlone } from '../database/left-alone.ts'
import { list, part, reading, sql } from '../database/sql.ts'
import { queued } from '../ready/put.ts'
import type { Decision, FireRequest, FireResult } from './fire.ts'
import { livingWorker, ownedShards } from './fire-parts.ts'
import type { DueRow } from './look-ahead.ts'

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
