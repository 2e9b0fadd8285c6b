/** Adds the run that a user requested. */
import { sql } from '../database/sql.ts'

/** A run that a user requested, as a row to insert. */
export interface ManualRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly shard: number
  readonly at: number
  readonly version: number
  readonly lane: number
  readonly priority: number
  /**
   * Reject the run if more runs than this are already active or waiting; null for no limit. The fire decides again, for one run
   * at a time.
   */
  readonly behindAtMost: number | null
}

/** Adds a manual run to the agenda, or returns the run that prevents it. */
export const insertManual = (row: ManualRow) => sql<{ inserted: boolean; blocker: string | null }>`
  with blocker as (
    select run_id from agenda
    where ${row.behindAtMost}::integer is not null and task_id = ${row.taskId}
      and case when state in ('held', 'deferred') then kind <> 'catchup' when state = 'scheduled' then kind = 'manual' else kind <> 'backfill' end
    order by scheduled_for offset ${row.behindAtMost ?? 0} limit 1
  ), inserted as (
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial, lane, priority)
    select ${row.runId}, ${row.taskId}, ${row.projectId}, ${row.shard}::smallint, to_timestamp(${row.at}::float8 / 1000),
           to_timestamp(${row.at}::float8 / 1000), ${row.version}::integer, 0, 'manual', nextval('agenda_serial'), ${row.lane}::bigint, ${row.priority}::smallint
    where not exists (select from blocker)
    returning 1
  )
  select exists (select from inserted) as inserted, (select run_id from blocker) as blocker`
