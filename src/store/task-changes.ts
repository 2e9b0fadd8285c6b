/**
 * Changes to a task that concern its rows in agenda. Each runs in a transaction that first locks the task
 * and then sweeps its scheduled rows until none of the old ones is left: a fire that is under way holds
 * the row it fires, so the sweep waits for it and then sees the row that it wrote next. The row itself is
 * what pausing, editing and firing contend for; no fire reads the task to learn whether it may.
 */
import type { TaskDefinition } from '../core/task.ts'
import { sql } from './sql.ts'

export interface LockedTask {
  readonly id: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: string[]
  readonly version: number
  readonly definition: TaskDefinition
  readonly nextOrdinal: number
  readonly pausedAt: number | null
  readonly cancelledAt: number | null
}

export const lockTask = (projectId: string, taskId: string) => sql<LockedTask>`
  select id, key, name, owner, tags, version, definition, next_ordinal as "nextOrdinal", paused_at as "pausedAt",
         cancelled_at as "cancelledAt"
  from task where project_id = ${projectId} and id = ${taskId} and deleted_at is null
  for update`

export interface TaskEdit {
  readonly id: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: readonly string[]
  readonly definition: TaskDefinition
}

/** Replaces the definition and keeps the old one for the runs that belong to it. */
export const replaceDefinition = (edit: TaskEdit) => sql<{ version: number }>`
  with kept as (
    insert into task_version (task_id, version, definition) select id, version, definition from task where id = ${edit.id}
  )
  update task set version = version + 1, updated_at = now(), definition = ${JSON.stringify(edit.definition)}::jsonb,
    action_type = ${edit.definition.action.type}, key = ${edit.key}, name = ${edit.name}, owner = ${edit.owner},
    tags = ${edit.tags}::text[]
  where id = ${edit.id} returning version`

export const markPaused = (taskId: string, nextOrdinal: number) => sql`
  update task set paused_at = now(), updated_at = now(), next_ordinal = ${nextOrdinal} where id = ${taskId}`

export const markResumed = (taskId: string) => sql`
  update task set paused_at = null, updated_at = now() where id = ${taskId}`

export const markCancelled = (taskId: string) => sql`
  update task set cancelled_at = coalesce(cancelled_at, now()), updated_at = now() where id = ${taskId}`

export const markDeleted = (taskId: string) => sql`
  update task set cancelled_at = coalesce(cancelled_at, now()), deleted_at = now(), updated_at = now() where id = ${taskId}`

export interface SweptRow {
  readonly ordinal: number
  readonly scheduledFor: number
}

/** Takes the task's waiting occurrences away. Manual runs stay: somebody asked for them. */
export const sweepScheduled = (taskId: string) => sql<SweptRow>`
  delete from agenda where task_id = ${taskId} and state = 'scheduled' and kind = 'occurrence'
  returning ordinal, scheduled_for as "scheduledFor"`

/** Moves waiting occurrences to the new version without touching when they are due. */
export const adoptScheduled = (
  taskId: string,
  { version, lane }: { version: number; lane: number },
) => sql<SweptRow>`
  update agenda set version = ${version}, lane = ${lane}
  where task_id = ${taskId} and state = 'scheduled' and kind = 'occurrence' and version < ${version}
  returning ordinal, scheduled_for as "scheduledFor"`

export const countScheduled = (taskId: string, beforeVersion: number) => sql<{ count: number }>`
  select count(*)::integer as count from agenda
  where task_id = ${taskId} and state = 'scheduled' and kind = 'occurrence' and version < ${beforeVersion}`

/** Tells active runs of a `delay` task what to write when they end; null ends the chain. */
export const setDelay = (taskId: string, delayMs: number | null) => sql<{ ordinal: number }>`
  update agenda set delay_ms = ${delayMs}
  where task_id = ${taskId} and state <> 'scheduled' and kind = 'occurrence'
  returning ordinal`

/** The latest occurrence that is already on its way: what comes next must lie after it. */
export const latestOccurrence = (taskId: string) => sql<{
  scheduledFor: number | null
  ordinal: number | null
}>`
  select max(scheduled_for) as "scheduledFor", max(ordinal) as ordinal
  from agenda where task_id = ${taskId} and kind = 'occurrence'`

/** How far counting had come in history, for a task that has no live row left. */
export const latestEndedOrdinal = (taskId: string) => sql<{ ordinal: number | null }>`
  select max(ordinal) as ordinal from run where task_id = ${taskId} and kind = 'occurrence' and state <> 'skipped'`

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
}

export const insertNext = (row: NextRow) => sql`
  insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, delay_ms, lane)
  values (${row.runId}, ${row.taskId}, ${row.projectId}, ${row.shard}, to_timestamp(${row.at}::float8 / 1000),
          to_timestamp(${row.at}::float8 / 1000), ${row.version}, ${row.ordinal}, ${row.delayMs}, ${row.lane})
  on conflict on constraint agenda_occurrence_is_unique do nothing`

export interface ManualRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly shard: number
  readonly at: number
  readonly version: number
  readonly lane: number
  /** Refuse when a run of the task is active. The fire decides again, one at a time. */
  readonly exclusive: boolean
}

/** Puts a manual run on the agenda, or answers with the run that is in the way. */
export const insertManual = (row: ManualRow) => sql<{ inserted: boolean; blocker: string | null }>`
  with blocker as (
    select run_id from agenda
    where ${row.exclusive}::boolean and task_id = ${row.taskId} and (state <> 'scheduled' or kind = 'manual') limit 1
  ), inserted as (
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial, lane)
    select ${row.runId}, ${row.taskId}, ${row.projectId}, ${row.shard}::smallint, to_timestamp(${row.at}::float8 / 1000),
           to_timestamp(${row.at}::float8 / 1000), ${row.version}::integer, 0, 'manual', nextval('agenda_serial'), ${row.lane}::integer
    where not exists (select from blocker)
    returning 1
  )
  select exists (select from inserted) as inserted, (select run_id from blocker) as blocker`

/**
 * Ends what is waiting (pending, retrying, or a manual run not yet fired) as cancelled, and asks the
 * workers to stop what is running. Rows in ready that lead nowhere are dropped by the next claim.
 * With `runId` only that run is meant; the chain of a `delay` task then goes on, else it ends.
 */
export const cancelRuns = ({
  taskId,
  runId,
  heirId,
}: {
  taskId: string
  runId: string | null
  heirId: string
}) => sql<{
  runId: string
  wasRunning: boolean
  workerId: string | null
  heirAt: number | null
}>`
  with doomed as (
    delete from agenda
    where task_id = ${taskId} and (${runId}::uuid is null or run_id = ${runId}::uuid)
      and (state in ('pending', 'retrying') or (state = 'scheduled' and kind = 'manual'))
    returning *
  ), told as (
    update agenda set cancel_at = coalesce(cancel_at, now()), delay_ms = case when ${runId}::uuid is null then null else delay_ms end
    where task_id = ${taskId} and (${runId}::uuid is null or run_id = ${runId}::uuid) and state = 'running'
    returning run_id, worker_id
  ), heirs as (
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, delay_ms)
    select ${heirId}::uuid, d.task_id, d.project_id, d.shard, due.at, due.at, t.version, d.ordinal + 1, d.delay_ms
    from doomed d
    join task t on t.id = d.task_id
    cross join lateral (select date_trunc('milliseconds', now() + d.delay_ms * interval '1 millisecond') as at) due
    where ${runId}::uuid is not null and d.delay_ms is not null
      and (t.definition ->> 'endAt' is null or due.at <= (t.definition ->> 'endAt')::timestamptz)
      and (t.definition ->> 'maxRuns' is null or d.ordinal < (t.definition ->> 'maxRuns')::integer)
    on conflict on constraint agenda_occurrence_is_unique do nothing
    returning wake_at
  ), history as (
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, fence, late_ms, attempt, losses, kind, state)
    select run_id, task_id, project_id, scheduled_for, clock_timestamp(), version, ordinal, fence, late_ms, attempt, losses, kind, 'cancelled'
    from doomed
  )
  select run_id as "runId", false as "wasRunning", null::uuid as "workerId", (select wake_at from heirs) as "heirAt" from doomed
  union all
  select run_id, true, worker_id, null from told`

export interface RangeSkip {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly version: number
  readonly first: number
  readonly last: number
  readonly count: number | null
  readonly reason: string
}

/** One row that speaks for a stretch of occurrences that did not run. */
export const insertSkip = (skip: RangeSkip) => sql`
  insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, kind, state, reason)
  values (${skip.runId}, ${skip.taskId}, ${skip.projectId}, to_timestamp(${skip.first}::float8 / 1000), clock_timestamp(),
          to_timestamp(${skip.last}::float8 / 1000), ${skip.count}, ${skip.version}, 0, 'occurrence', 'skipped', ${skip.reason})`
