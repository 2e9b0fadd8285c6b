/** Occurrences that do not run: those that a user skips in advance, and ranges in history of those that did not run. */
import type { SkipReason } from '../../core/run/run.ts'
import { sql } from '../database/sql.ts'
import { storedCount } from '../history/stored-count.ts'

/** Makes occurrences up to an instant be skipped; null for none. */
export const markSkipped = (taskId: string, until: number | null, reason: string | null) => sql`
  update task set skip_until = to_timestamp(${until}::float8 / 1000), skip_reason = ${reason}, updated_at = greatest(updated_at, case when paused_at is null then now() else updated_at end)
  where id = ${taskId}`

/** A range of occurrences that did not run, and why. */
export interface RangeSkip {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly version: number
  /** The ordinal of the next occurrence: occurrences that did not run are not counted. */
  readonly ordinal: number
  readonly first: number
  readonly last: number
  readonly count: number | null
  readonly reason: SkipReason
  /** Set if they have failed instead of being skipped. */
  readonly error?: { readonly code: string; readonly message: string } | null
}

/** Inserts one history row that covers a range of occurrences that did not run. */
export const insertSkip = (skip: RangeSkip) => sql`
  insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, ordinal_base, kind, state, reason, error)
  values (${skip.runId}, ${skip.taskId}, ${skip.projectId}, to_timestamp(${skip.first}::float8 / 1000), clock_timestamp(),
          to_timestamp(${skip.last}::float8 / 1000), ${storedCount(skip.count)}, ${skip.version}, part_of_count(${skip.ordinal}), base_of_count(${skip.ordinal}), 'occurrence',
          ${skip.error ? 'permanently_failed' : 'skipped'}::run_state, ${skip.reason}, ${skip.error ? JSON.stringify(skip.error) : null}::jsonb)`
