/** Backfills: the requests, and their progress. */
import type { BackfillState } from '../../core/policy/backfill.ts'
import { list, sql } from '../database/sql.ts'

/** A backfill, with everything needed to continue it. */
export interface BackfillRow {
  readonly id: string
  readonly taskId: string
  readonly projectId: string
  readonly number: number
  readonly version: number
  readonly from: number
  readonly to: number
  readonly newestFirst: boolean
  readonly oneByOne: boolean
  readonly force: boolean
  readonly rate: string | null
  readonly maxRuns: number | null
  readonly state: BackfillState
  readonly occurrences: number
  readonly position: number | null
  readonly started: number
  readonly passedOver: number
  readonly isWritten: boolean
  readonly nextAt: number
  readonly createdAt: number
  readonly endedAt: number | null
  readonly madeBy: string | null
  readonly reason: string | null
}

/** Counts of the runs of a backfill by their current state. */
export interface BackfillCounts {
  readonly waiting: number
  readonly running: number
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
}

export type NewBackfill = Pick<
  BackfillRow,
  | 'id'
  | 'taskId'
  | 'projectId'
  | 'version'
  | 'from'
  | 'to'
  | 'newestFirst'
  | 'oneByOne'
  | 'force'
  | 'rate'
  | 'maxRuns'
  | 'occurrences'
  | 'madeBy'
  | 'reason'
>

/** Stores the next backfill of a task, which must be locked. No row if another one is running. */
export const insertBackfill = (b: NewBackfill) => sql<{ number: number; createdAt: number }>`
  insert into backfill (id, project_id, task_id, number, version, from_at, to_at, newest_first, one_by_one, force, rate, max_runs,
                        occurrences, made_by, reason, next_at, look_at)
  select ${b.id}, ${b.projectId}, ${b.taskId}, 1 + coalesce((select max(number) from backfill where task_id = ${b.taskId}), 0),
         ${b.version}, to_timestamp(${b.from}::float8 / 1000), to_timestamp(${b.to}::float8 / 1000), ${b.newestFirst}::boolean,
         ${b.oneByOne}::boolean, ${b.force}::boolean, ${b.rate}, ${b.maxRuns}::integer, ${b.occurrences}::integer, ${b.madeBy}, ${b.reason}, now(), now()
  on conflict (task_id) where state = 'running' do nothing
  returning number, created_at as "createdAt"`

/** Returns the running backfill of a task. */
export const runningBackfill = (taskId: string) =>
  sql<{ id: string }>`select id from backfill where task_id = ${taskId} and state = 'running'`

/** Which backfills to read. */
export interface BackfillQuery {
  readonly projectId: string
  readonly id?: string
  readonly taskId?: string
  /** Only backfills of the task with a lower number. */
  readonly beforeNumber?: number | null
  readonly limit: number
}

/**
 * Lists backfills with the counts of their runs, latest first. The completed runs are computed as the started runs minus all
 * others, for which there are indexes. Whatever deletes history adds to the counts of deleted runs; when a backfill ends, its counts
 * are stored.
 */
export const findBackfills = ({ projectId, id, taskId, beforeNumber, limit }: BackfillQuery) => sql<
  BackfillRow & BackfillCounts
>`
  select b.id, b.task_id as "taskId", b.project_id as "projectId", b.number, b.version, b.from_at as "from", b.to_at as "to",
         b.newest_first as "newestFirst", b.one_by_one as "oneByOne", b.force, b.rate, b.max_runs as "maxRuns", b.state, b.occurrences,
         b.position, b.started, b.passed_over as "passedOver", b.is_written as "isWritten", b.next_at as "nextAt",
         b.created_at as "createdAt", b.ended_at as "endedAt", b.made_by as "madeBy", b.reason,
         coalesce(live.waiting, 0) as waiting, coalesce(live.running, 0) as running,
         coalesce(b.failed, ended.failed) as failed, coalesce(b.cancelled, ended.cancelled) as cancelled,
         coalesce(b.completed, greatest(0, b.started - live.waiting - live.running - ended.failed - ended.cancelled)) as completed
  from (
    select * from backfill
    where project_id = ${projectId} and (${id ?? null}::uuid is null or id = ${id ?? null}::uuid)
      and (${taskId ?? null}::uuid is null or task_id = ${taskId ?? null}::uuid)
      and (${beforeNumber ?? null}::integer is null or number < ${beforeNumber ?? null}::integer)
    order by number desc limit ${limit}
  ) b
  left join lateral (
    select count(*) filter (where state <> 'running')::integer as waiting, count(*) filter (where state = 'running')::integer as running
    from agenda where task_id = b.task_id and kind = 'backfill' and ordinal = b.number
  ) live on b.completed is null
  left join lateral (
    select b.deleted_failed + count(*) filter (where state = 'permanently_failed')::integer as failed,
           b.deleted_cancelled + count(*) filter (where state in ('cancelled', 'skipped'))::integer as cancelled
    from run
    where task_id = b.task_id and state in ('permanently_failed', 'cancelled', 'skipped') and state <> 'completed' and kind = 'backfill'
      and ordinal = b.number and scheduled_for >= b.from_at and scheduled_for < b.to_at and ended_at >= b.created_at
  ) ended on b.completed is null
  order by b.number desc`

/** A backfill locked until the transaction ends, and the current time. */
export type LockedBackfill = BackfillRow & { readonly now: number }

/** Locks the backfill that has been waiting longest; skips locked ones and those in `except`. */
export const lockBackfill = (except: readonly string[]) => sql<LockedBackfill>`
  select id, task_id as "taskId", project_id as "projectId", number, version, from_at as "from", to_at as "to",
         newest_first as "newestFirst", one_by_one as "oneByOne", force, rate, max_runs as "maxRuns", state, occurrences, position,
         started, passed_over as "passedOver", is_written as "isWritten", next_at as "nextAt", created_at as "createdAt",
         ended_at as "endedAt", made_by as "madeBy", reason, clock_timestamp() as now
  from backfill where state = 'running' and look_at <= now() and id <> all(${list(except, (id) => id)}::uuid[])
  order by look_at limit 1
  for update skip locked`

/** Progress of a backfill. */
export interface BackfillProgress {
  readonly id: string
  readonly position: number | null
  readonly started: number
  readonly passedOver: number
  readonly isWritten: boolean
  readonly nextAt: number
  readonly lookAt: number
}

/** Stores the progress of a locked backfill. */
export const saveBackfill = (p: BackfillProgress) => sql`
  update backfill set position = to_timestamp(${p.position}::float8 / 1000), started = ${p.started}, passed_over = ${p.passedOver},
    is_written = ${p.isWritten}, next_at = to_timestamp(${p.nextAt}::float8 / 1000), look_at = to_timestamp(${p.lookAt}::float8 / 1000)
  where id = ${p.id} and state = 'running'`

/** Ends a backfill that has no live runs left, and stores its counts. */
export const endBackfill = ({ id, counts }: { id: string; counts: BackfillCounts }) => sql`
  update backfill set state = 'completed', ended_at = now(), completed = ${counts.completed}, failed = ${counts.failed}, cancelled = ${counts.cancelled}
  where id = ${id} and state = 'running'`

/**
 * Cancels the running backfill of a task, or the one with the given id. It waits for a node that is writing a slice of the
 * backfill, so that later statements see all of its runs.
 */
export const cancelBackfills = ({ taskId, id }: { taskId: string; id: string | null }) => sql<{
  id: string
  number: number
}>`
  update backfill set state = 'cancelled', ended_at = now()
  where task_id = ${taskId} and state = 'running' and (${id}::uuid is null or id = ${id}::uuid)
  returning id, number`

/** Deletes backfills that ended so long ago that retention has deleted the history of their runs. */
export const deleteOldBackfills = (days: number) => sql`
  delete from backfill where ended_at < now() - make_interval(days => ${days}::integer)`
