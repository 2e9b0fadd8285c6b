/** Rows of the agenda that are not runs: something to do to a task at an instant. */
import { sql } from '../database/sql.ts'

/** Something to do to a task at an instant, as a row that is not a run: ending a pause, or skipping an occurrence. */
export interface DutyRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly shard: number
  readonly at: number
  readonly version: number
  readonly kind: 'resume' | 'skip'
}

export const insertDuty = (row: DutyRow) => sql`
  insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind)
  values (${row.runId}, ${row.taskId}, ${row.projectId}, ${row.shard}, to_timestamp(${row.at}::float8 / 1000),
          to_timestamp(${row.at}::float8 / 1000), ${row.version}, 0, ${row.kind})
  on conflict on constraint agenda_occurrence_is_unique do nothing`

/** Deletes the `resume` or `skip` rows of a task; returns their instants. */
export const sweepDuties = (taskId: string, kinds: readonly DutyRow['kind'][]) => sql<{ at: number }>`
  delete from agenda where task_id = ${taskId} and kind = any(${kinds}::agenda_kind[]) returning scheduled_for as at`

/** Deletes such a row that has come due, so that the caller can carry it out; no row if it was deleted before. */
export const takeDuty = (runId: string) => sql<{ taskId: string; at: number; kind: DutyRow['kind'] }>`
  delete from agenda where run_id = ${runId} and kind in ('resume', 'skip')
  returning task_id as "taskId", scheduled_for as at, kind`

/** Returns when the pause of a task ends by itself; no row if no end is set. */
export const resumeDutyOf = (taskId: string) => sql<{ at: number }>`
  select scheduled_for as at from agenda where task_id = ${taskId} and kind = 'resume'`

export const dutyOf = (runId: string) => sql<{ taskId: string; projectId: string; isArchived: boolean }>`
  select a.task_id as "taskId", a.project_id as "projectId", p.archived_at is not null as "isArchived"
  from agenda a join project p on p.id = a.project_id where a.run_id = ${runId} and a.kind in ('resume', 'skip')`
