/** The next occurrence of a task: finding it, removing it, writing it anew, or leaving it to the end of an active run. */
import { sql } from '../database/sql.ts'
import { storedOrdinal } from './stored-ordinal.ts'

/** A scheduled occurrence that a change deleted or moved. */
export interface SweptRow {
  readonly ordinal: number
  readonly scheduledFor: number
}

/** Deletes the scheduled occurrences of a task. Manual runs stay, because a user requested them. */
export const sweepScheduled = (taskId: string) => sql<SweptRow>`
  delete from agenda where task_id = ${taskId} and state = 'scheduled' and kind = 'occurrence'
  returning count_of(ordinal_base, ordinal) as ordinal, scheduled_for as "scheduledFor"`

/** Prevents active runs of a `delay` task from writing a next row when they end. */
export const endChains = (taskId: string) => sql`
  update agenda set delay_ms = null where task_id = ${taskId} and state <> 'scheduled' and delay_ms is not null`

/** Counts the rows by which the task would still continue. */
export const countLoose = (taskId: string) => sql<{ count: number }>`
  select count(*)::integer as count from agenda
  where task_id = ${taskId} and case when state = 'scheduled' then kind = 'occurrence' else delay_ms is not null end`

/** Makes the latest active run of a task write the next row when it ends; no row if none is active. */
export const continueChain = ({
  taskId,
  delayMs,
  lane,
  priority,
}: {
  taskId: string
  delayMs: number
  lane: number
  priority: number
}) => sql<{ runId: string }>`
  update agenda set delay_ms = ${delayMs}, lane = ${lane}, priority = ${priority}
  where run_id = (
      select run_id from agenda where task_id = ${taskId} and state <> 'scheduled' and kind = 'occurrence'
      order by scheduled_for desc limit 1 for update)
    and state <> 'scheduled'
  returning run_id as "runId"`

/**
 * Returns the latest occurrence of a task that is in history or has a live row other than its next scheduled one, and the
 * ordinal of the next occurrence.
 */
export const latestOccurrence = (taskId: string) => sql<{
  until: number | null
  nextOrdinal: number | null
}>`
  select max(until) as until, max(next_ordinal) as "nextOrdinal" from (
    (select scheduled_for as until, count_of(ordinal_base, ordinal) + 1 as next_ordinal from agenda
     where task_id = ${taskId} and (kind = 'catchup' or kind = 'occurrence' and state <> 'scheduled') order by scheduled_for desc limit 1)
    union all
    (select greatest(scheduled_for, covers_until), count_of(ordinal_base, ordinal) + case when reason is null or reason = 'queue_timeout' then 1 else 0 end from run
     where task_id = ${taskId} and kind in ('occurrence', 'catchup') order by scheduled_for desc, run_id desc limit 1)
  ) latest`

/** Returns what determines the next occurrence of a chain that has no live row. */
export const chainOf = (taskId: string) => sql<{ lastEndedAt: number | null; createdAt: number }>`
  select created_at as "createdAt",
         (select ended_at from run where task_id = ${taskId} and kind = 'occurrence' order by scheduled_for desc, run_id desc limit 1) as "lastEndedAt"
  from task where id = ${taskId}`

/** Returns whether the task has a row for an occurrence at an instant, on time or caught up, live or in history. */
export const hasOccurrence = (taskId: string, at: number) => sql<{ exists: boolean }>`
  select exists (select from agenda where task_id = ${taskId} and kind in ('occurrence', 'catchup')
                   and scheduled_for = to_timestamp(${at}::float8 / 1000))
      or exists (select from run where task_id = ${taskId} and kind in ('occurrence', 'catchup')
                   and scheduled_for = to_timestamp(${at}::float8 / 1000)) as exists`

/** The next occurrence of a task, as a row to insert. */
export interface NextRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly shard: number
  readonly at: number
  readonly version: number
  readonly ordinal: number
  readonly delayMs: number | null
  readonly lane: number
  readonly priority: number
  /** A `catchup` row writes no next row. */
  readonly kind: 'occurrence' | 'catchup'
  /** Its jitter; null if it has none. */
  readonly jitterMs: number | null
}

export const insertNext = (row: NextRow) => sql`
  insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, jitter_ms, version, ordinal, ordinal_base, delay_ms, lane, priority, kind)
  values (${row.runId}, ${row.taskId}, ${row.projectId}, ${row.shard}, to_timestamp(${row.at + (row.jitterMs ?? 0)}::float8 / 1000),
          to_timestamp(${row.at}::float8 / 1000), ${row.jitterMs}, ${row.version},
          part_of_count(${row.ordinal}), base_of_count(${row.ordinal}), ${row.delayMs}, ${row.lane}, ${row.priority}, ${row.kind})
  on conflict on constraint agenda_occurrence_is_unique do nothing`

/** Stores the ordinal of the next occurrence, for tasks that no row will tell it of. */
export const keepOrdinal = (taskId: string, nextOrdinal: number) => sql`
  update task set next_ordinal = greatest(next_ordinal, ${storedOrdinal(nextOrdinal)}) where id = ${taskId}`
