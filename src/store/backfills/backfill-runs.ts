/** The runs that backfills add to the agenda. */
import { catchUpLanes } from '../agenda/catch-up.ts'
import { list, part, sql } from '../database/sql.ts'
import { dequeued } from '../ready/put.ts'
import type { BackfillRow } from './backfills.ts'

/** Counts the live runs of a task: those of one of its backfills, and all that are active or belong to any backfill. */
export const liveRuns = ({ taskId, number }: { taskId: string; number: number }) => sql<{
  own: number
  active: number
}>`
  select count(*) filter (where kind = 'backfill' and ordinal = ${number})::integer as own,
         count(*) filter (where kind = 'backfill' or state in ('pending', 'running', 'retrying'))::integer as active
  from agenda where task_id = ${taskId}`

/** Occurrences of a task, and whether to run them again if they have completed. */
export interface Candidates {
  readonly taskId: string
  /** Instants in any order. */
  readonly instants: readonly number[]
  readonly force: boolean
}

/** From when on history shows which occurrences of a task have completed; null if none of it was deleted since the task was created. */
const completionsFrom = (taskId: string) => part`
  select case when t.created_at < kept.begin then kept.begin end as at
  from task t cross join lateral (select history_begin(t.project_id) as begin) kept where t.id = ${taskId}`

export const completionsKept = (taskId: string) => sql<{ at: number | null }>`${completionsFrom(taskId)}`

/**
 * Returns the instants for which a run should be created: the task has no live run for them, no completed run unless `force` is
 * set, and its schedule has already passed them. Without `force`, instants from before the retained history are left out too, because
 * they may have completed: history is also deleted while a backfill is in progress. Completed runs are read once for the whole range, because otherwise each
 * partition would be searched for each instant.
 */
export const unfilled = ({ taskId, instants, force }: Candidates) => sql<{ at: number }>`
  with wanted as materialized (
    select to_timestamp(ms / 1000) as at from unnest(${list(instants, (at) => at)}::float8[]) as i(ms)
  ), done as materialized (
    select scheduled_for as at from run
    where not ${force}::boolean and task_id = ${taskId} and state = 'completed' and kind <> 'manual'
      and scheduled_for >= (select min(at) from wanted) and scheduled_for <= (select max(at) from wanted)
    union all
    select scheduled_for from agenda
    where task_id = ${taskId} and kind <> 'manual'
      and scheduled_for >= (select min(at) from wanted) and scheduled_for <= (select max(at) from wanted)
  ), ahead as materialized (
    select min(scheduled_for) as at from agenda
    where task_id = ${taskId} and kind in ('occurrence', 'catchup') and state in ('scheduled', 'held', 'deferred')
  )
  select w.at from wanted w
  where (${force}::boolean or w.at >= coalesce((${completionsFrom(taskId)}), '-infinity')) and not exists (select from done d where d.at = w.at) and (select coalesce(at, 'infinity') from ahead) > w.at`

/** A run of a backfill, as a row to insert. */
export interface BackfillRun {
  readonly runId: string
  /** The occurrence that it runs. */
  readonly at: number
  /** The earliest start. */
  readonly wakeAt: number
}

/** Where the runs of a backfill are inserted. */
export interface BackfillPlace {
  readonly backfill: Pick<BackfillRow, 'taskId' | 'projectId' | 'number' | 'version'>
  readonly shard: number
  readonly lane: number
  /** The lane for catch-up runs of `lane`. */
  readonly catchUpLane: number
  readonly priority: number
}

/**
 * Adds runs of a backfill to the agenda. They wait in the lanes of catch-up runs and, like those, are claimed after runs on
 * time.
 */
export const insertBackfillRuns = (runs: readonly BackfillRun[], place: BackfillPlace) => sql`
  with given as materialized (
    select ${place.lane}::bigint as lane, ${place.catchUpLane}::bigint as catchup_lane
  ), ${catchUpLanes(part`given`)}
  insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial, lane, priority)
  select run_id, ${place.backfill.taskId}::uuid, ${place.backfill.projectId}::uuid, ${place.shard}::smallint, to_timestamp(wake_ms / 1000),
         to_timestamp(at_ms / 1000), ${place.backfill.version}::integer, ${place.backfill.number}::integer, 'backfill',
         ${place.backfill.number}::bigint, (select coalesce(o.catchup_lane, g.lane) from given g left join own o on o.lane = g.lane),
         ${place.priority}::smallint
  from unnest(${list(runs, (r) => r.runId)}::uuid[], ${list(runs, (r) => r.at)}::float8[], ${list(runs, (r) => r.wakeAt)}::float8[])
    as i(run_id, at_ms, wake_ms)`

/**
 * Ends the waiting runs of a backfill as cancelled, and asks the workers to stop the running ones. The rows must have been
 * locked by `lockRuns`.
 */
export const cancelBackfillRuns = ({ taskId, number }: { taskId: string; number: number }) => sql<{
  runId: string
  wasRunning: boolean
}>`
  with doomed as (
    delete from agenda where task_id = ${taskId} and kind = 'backfill' and ordinal = ${number} and state <> 'running'
    returning *
  ), ${dequeued(part`from (select * from doomed where state = 'pending') d`)}, told as (
    update agenda set cancel_at = coalesce(cancel_at, now())
    where task_id = ${taskId} and kind = 'backfill' and ordinal = ${number} and state = 'running'
    returning run_id
  ), history as (
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, fence, late_ms, attempt, losses, kind, state)
    select run_id, task_id, project_id, scheduled_for, clock_timestamp(), version, ordinal, fence, late_ms, attempt, losses, kind, 'cancelled'
    from doomed
  )
  select run_id as "runId", false as "wasRunning" from doomed
  union all
  select run_id, true from told`

/** Returns the backfill that created a run. */
export const backfillOfRun = ({ runId, taskId }: { runId: string; taskId: string }) => sql<{ id: string }>`
  select b.id from backfill b
  where b.task_id = ${taskId} and b.number = (
    select ordinal from agenda where run_id = ${runId}
    union all
    select ordinal from run where run_id = ${runId}
    limit 1)`
