/**
 * Changes to a task that affect its rows in the agenda. Each runs in a transaction that first locks the task, so that changes
 * to one task are serialised, and then removes everything by which the task would continue: its scheduled rows, and the next
 * rows that its active runs would write. This is repeated until nothing is left, because a fire or an end in progress holds the
 * lock of the row it works on: the statement waits for it, and the next statement sees the row that it wrote. Pausing, editing
 * and firing contend for the row in the agenda; no fire reads the task to find out whether it may proceed.
 */

import type { SkipReason } from '../../core/run/run.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { nextOfChain } from '../agenda/chain.ts'
import { part, reading, sql } from '../database/sql.ts'
import { dequeued } from '../ready/put.ts'
import { briefForm, storedForm, withDefinitions } from './stored-definition.ts'

/** A task that is locked until the transaction ends. */
export interface LockedTask {
  readonly id: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: string[]
  readonly version: number
  readonly definition: TaskDefinition
  /** The least that the next occurrence can have; rows of the task may tell more. */
  readonly nextOrdinal: number
  /** While the task is paused: the instant up to which all skipped occurrences have been recorded. */
  readonly updatedAt: number
  readonly pausedAt: number | null
  /** The pause began when the task was created. */
  readonly isPausedFromStart: boolean
  /** Whether it is paused because files that it refers to have not been uploaded yet. */
  readonly awaitsFiles: boolean
  readonly cancelledAt: number | null
  /** Whether it has been stored that no further occurrence is expected until the task changes. */
  readonly isSettled: boolean
  /** Occurrences up to this instant are skipped at a user's request. */
  readonly skipUntil: number | null
}

export const lockTask = (projectId: string, taskId: string) =>
  reading(
    sql<LockedTask>`
      select id, key, name, owner, tags, version, definition, next_ordinal as "nextOrdinal", updated_at as "updatedAt",
             paused_at as "pausedAt", coalesce(paused_at = created_at, false) as "isPausedFromStart", awaits_files and paused_at is not null as "awaitsFiles", cancelled_at as "cancelledAt", skip_until as "skipUntil",
             coalesce(settled_as_of = updated_at, false) as "isSettled"
      from task where project_id = ${projectId} and id = ${taskId} and deleted_at is null
      for update`,
    withDefinitions,
  )

/** The new state of a task. */
export interface TaskEdit {
  readonly id: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: readonly string[]
  readonly definition: TaskDefinition
}

/**
 * Replaces the definition and keeps the old one for the runs that belong to it. The version ends at the instant that the edit takes for now,
 * because a one-off that it sets to now is compared with it; the transaction may have begun earlier and waited for the task.
 */
export function replaceDefinition(edit: TaskEdit, now: number) {
  const stored = storedForm(edit.definition)
  return sql<{ version: number; updatedAt: number }>`
  with kept as (
    insert into task_version (task_id, version, definition, brief, key, name, owner, tags, replaced_at)
    select id, version, definition, brief, key, name, owner, tags, to_timestamp(${now}::float8 / 1000) from task where id = ${edit.id}
  )
  update task set version = version + 1, updated_at = now(), definition = ${stored}::json, 
    brief = (${briefForm(stored, 0)}::jsonb || jsonb_build_object('version', version + 1))::json,
    action_type = ${edit.definition.action.type}, key = ${edit.key}, name = ${edit.name}, owner = ${edit.owner},
    tags = ${edit.tags}::text[]
  where id = ${edit.id} returning version, updated_at as "updatedAt"`
}

/**
 * Stores the last instant whose occurrence belongs to a replaced version. Earlier versions end no later: if an edit changed
 * nothing but a name, an earlier version may have kept the future occurrences.
 */
export const endVersion = ({
  taskId,
  version,
  until,
}: {
  taskId: string
  version: number
  until: number
}) => sql`
  update task_version set due_until = to_timestamp(${until}::float8 / 1000)
  where task_id = ${taskId} and (version = ${version} or version < ${version} and due_until > to_timestamp(${until}::float8 / 1000))`

/** Stores the ordinal of the next occurrence, for tasks that no row will tell it of. */
export const keepOrdinal = (taskId: string, nextOrdinal: number) => sql`
  update task set next_ordinal = greatest(next_ordinal, least(${nextOrdinal}::bigint, 2147483647)) where id = ${taskId}`

/** The properties of a pause. */
export interface PauseWords {
  readonly reason: string | null
  /** When it ends by itself. */
  readonly until: number | null
  /** Whether the task waits for files, so that it is not a user's pause. */
  readonly awaitsFiles?: boolean
}

export const markPaused = (
  taskId: string,
  nextOrdinal: number,
  { reason, until, awaitsFiles = false }: PauseWords,
) => sql<{
  pausedAt: number
}>`
  with noted as (
    insert into task_pause (task_id, paused_at, reason, until_at)
    values (${taskId}, now(), ${reason}, to_timestamp(${until}::float8 / 1000))
    on conflict (task_id, paused_at) do update set reason = excluded.reason, until_at = excluded.until_at, resumed_at = null, resume_reason = null
  )
  update task set paused_at = now(), updated_at = now(), next_ordinal = least(${nextOrdinal}::bigint, 2147483647), pause_reason = ${reason},
    resume_at = to_timestamp(${until}::float8 / 1000), awaits_files = ${awaitsFiles}
  where id = ${taskId}
  returning paused_at as "pausedAt"`

/**
 * Changes the properties of a pause. `updated_at` is unchanged, because it is the instant up to which the pause has been
 * recorded.
 */
export const rewordPause = (taskId: string, { reason, until }: PauseWords) => sql`
  with noted as (
    update task_pause p set reason = ${reason}, until_at = to_timestamp(${until}::float8 / 1000)
    from task t where t.id = ${taskId} and p.task_id = t.id and p.paused_at = t.paused_at
  )
  update task set pause_reason = ${reason}, resume_at = to_timestamp(${until}::float8 / 1000) where id = ${taskId}`

export const markResumed = (taskId: string, reason: string | null) => sql`
  with noted as (
    update task_pause p set resumed_at = clock_timestamp(), resume_reason = ${reason}
    from task t where t.id = ${taskId} and p.task_id = t.id and p.resumed_at is null
  )
  update task set paused_at = null, pause_reason = null, resume_at = null, awaits_files = false, updated_at = now() where id = ${taskId}`

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

/** Extends a pause that would end until the project is restored. */
export const pauseWithProject = (taskId: string) => sql`
  update task set archived_at = now(), resume_at = null where id = ${taskId} and paused_at is not null`

/** Deletes catch-up rows that are not active yet, and records each as skipped because of a pause. */
export const skipCatchUpRuns = (taskId: string) => sql`
  with skipped as (
    delete from agenda where task_id = ${taskId} and kind = 'catchup' and state in ('scheduled', 'held', 'deferred')
    returning *
  )
  insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind, state, reason)
  select run_id, task_id, project_id, scheduled_for, clock_timestamp(), version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind, 'skipped', 'paused'
  from skipped`

/** Makes occurrences up to an instant be skipped; null for none. */
export const markSkipped = (taskId: string, until: number | null, reason: string | null) => sql`
  update task set skip_until = to_timestamp(${until}::float8 / 1000), skip_reason = ${reason}, updated_at = greatest(updated_at, case when paused_at is null then now() else updated_at end)
  where id = ${taskId}`

export const markCancelled = (taskId: string) => sql<{ cancelledAt: number }>`
  update task set cancelled_at = coalesce(cancelled_at, now()), updated_at = now() where id = ${taskId}
  returning cancelled_at as "cancelledAt"`

export const markDeleted = (taskId: string) => sql<{ cancelledAt: number }>`
  update task set cancelled_at = coalesce(cancelled_at, now()), deleted_at = now(), updated_at = now() where id = ${taskId}
  returning cancelled_at as "cancelledAt"`

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

/**
 * Waits until no other transaction is changing the state of the task's runs, and locks them for the rest of this transaction: a
 * run that is claimed or postponed while it is being cancelled would escape.
 */
export const lockRuns = ({ taskId, runId }: { taskId: string; runId: string | null }) => sql`
  select run_id from agenda
  where task_id = ${taskId} and (${runId}::uuid is null or run_id = ${runId}::uuid)
  order by run_id for update`

/**
 * Ends waiting runs (pending, retrying, held, deferred, or a manual run not yet fired) as cancelled, and asks the workers to
 * stop the running ones. The rows must have been locked by `lockRuns`. A `ready` row that a claim has locked is left to that
 * claim, which waits for this transaction's lock in the agenda and then finds that the run is gone. With `runId`, only that run
 * is cancelled, and the chain of a `delay` task continues; otherwise the chain ends.
 */
export const cancelRuns = ({
  taskId,
  runId,
  nextRunId,
}: {
  taskId: string
  runId: string | null
  nextRunId: string
}) => sql<{
  runId: string
  wasRunning: boolean
  workerId: string | null
  nextAt: number | null
}>`
  with doomed as (
    delete from agenda
    where task_id = ${taskId} and (${runId}::uuid is null or run_id = ${runId}::uuid)
      and (state in ('pending', 'retrying', 'held', 'deferred') or (state = 'scheduled' and kind not in ('occurrence', 'resume', 'skip')))
    returning *
  ), ${dequeued(part`from (select * from doomed where state = 'pending') d`)}, told as (
    update agenda set cancel_at = coalesce(cancel_at, now()), delay_ms = case when ${runId}::uuid is null then null else delay_ms end
    where task_id = ${taskId} and (${runId}::uuid is null or run_id = ${runId}::uuid) and state = 'running'
    returning run_id, worker_id
  ), ${nextOfChain({
    from: part`from doomed e join task c on c.id = e.task_id and ${runId}::uuid is not null`,
    id: part`${nextRunId}::uuid`,
    endedAt: part`now()`,
  })}, history as (
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind, state)
    select run_id, task_id, project_id, scheduled_for, clock_timestamp(), version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind, 'cancelled'
    from doomed
  )
  select run_id as "runId", false as "wasRunning", null::uuid as "workerId", (select wake_at from next_of_chain) as "nextAt" from doomed
  union all
  select run_id, true, worker_id, null from told`

/** Locks the task in any state, as every change to it does. */
export const lockTaskRow = (taskId: string) => sql<{ id: string }>`
  select id from task where id = ${taskId} for update`

/** Wakes the first of the runs that are held for an earlier run of their task; no row if there is none. */
export const wakeHeld = (taskId: string) => sql<{ shard: number; at: number }>`
  update agenda set wake_at = date_trunc('milliseconds', clock_timestamp()), fence = fence + 1
  where state = 'held' and run_id = (
    select run_id from agenda where task_id = ${taskId} and state = 'held'
    order by kind = 'catchup', scheduled_for, run_id limit 1)
  returning shard, wake_at as at`

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
          to_timestamp(${skip.last}::float8 / 1000), ${skip.count}, ${skip.version}, part_of_count(${skip.ordinal}), base_of_count(${skip.ordinal}), 'occurrence',
          ${skip.error ? 'permanently_failed' : 'skipped'}::run_state, ${skip.reason}, ${skip.error ? JSON.stringify(skip.error) : null}::jsonb)`
