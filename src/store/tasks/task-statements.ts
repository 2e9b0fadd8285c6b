/**
 * Changes to a task that concern its rows in agenda. Each runs in a transaction that first locks the task,
 * so that changes to one task follow one another, and then takes back everything by which the task would
 * go on: its waiting rows, and the next rows that its active runs would write. That is repeated until nothing
 * is left, because a fire or an end that is under way holds the row it works on, so the statement waits
 * for it and the next one sees the row that it wrote. The row itself is what pausing, editing and firing
 * contend for; no fire reads the task to learn whether it may.
 */

import type { SkipReason } from '../../core/run/run.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { nextOfChain } from '../agenda/chain.ts'
import { part, reading, sql } from '../database/sql.ts'
import { dequeued } from '../ready/put.ts'
import { briefForm, storedForm, withDefinitions } from './stored-definition.ts'

/** A task that nobody else can change until the transaction ends. */
export interface LockedTask {
  readonly id: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: string[]
  readonly version: number
  readonly definition: TaskDefinition
  readonly nextOrdinal: number
  /** While the task is paused: up to here everything that was passed over has been recorded. */
  readonly updatedAt: number
  readonly pausedAt: number | null
  /** The pause began when the task was created. */
  readonly isPausedFromStart: boolean
  /** It is paused because files that it names have not been uploaded yet. */
  readonly awaitsFiles: boolean
  readonly cancelledAt: number | null
  /** Occurrences up to here are skipped, because a user said so. */
  readonly skipUntil: number | null
}

export const lockTask = (projectId: string, taskId: string) =>
  reading(
    sql<LockedTask>`
      select id, key, name, owner, tags, version, definition, next_ordinal as "nextOrdinal", updated_at as "updatedAt",
             paused_at as "pausedAt", coalesce(paused_at = created_at, false) as "isPausedFromStart", awaits_files and paused_at is not null as "awaitsFiles", cancelled_at as "cancelledAt", skip_until as "skipUntil"
      from task where project_id = ${projectId} and id = ${taskId} and deleted_at is null
      for update`,
    withDefinitions,
  )

/** A task as it shall be. */
export interface TaskEdit {
  readonly id: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: readonly string[]
  readonly definition: TaskDefinition
}

/** Replaces the definition and keeps the old one for the runs that belong to it. */
export function replaceDefinition(edit: TaskEdit) {
  const stored = storedForm(edit.definition)
  return sql<{ version: number; updatedAt: number }>`
  with kept as (
    insert into task_version (task_id, version, definition, brief, key, name, owner, tags)
    select id, version, definition, brief, key, name, owner, tags from task where id = ${edit.id}
  )
  update task set version = version + 1, updated_at = now(), definition = ${stored}::json, 
    brief = (${briefForm(stored, 0)}::jsonb || jsonb_build_object('version', version + 1))::json,
    action_type = ${edit.definition.action.type}, key = ${edit.key}, name = ${edit.name}, owner = ${edit.owner},
    tags = ${edit.tags}::text[]
  where id = ${edit.id} returning version, updated_at as "updatedAt"`
}

/**
 * Notes the last instant whose occurrence is one of a version that was replaced. One before it ends no later: it may have
 * been given what was still ahead, while nothing but a name changed.
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

/** What a pause says about itself. */
export interface PauseWords {
  readonly reason: string | null
  /** When it ends by itself. */
  readonly until: number | null
  /** It is no pause of a user's: the task waits for files. */
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

/** Changes what a pause says about itself. It stays recorded up to where it was: `updated_at` is left alone. */
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

/** Something to be done to a task at an instant, as a row that is no run: ending a pause, skipping an occurrence. */
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

/** Takes back what was to be done to a task; answers the instants it was to be done at. */
export const sweepDuties = (taskId: string, kinds: readonly DutyRow['kind'][]) => sql<{ at: number }>`
  delete from agenda where task_id = ${taskId} and kind = any(${kinds}::agenda_kind[]) returning scheduled_for as at`

/** Takes a duty that has come due, for whoever carries it out; no row when it was taken back. */
export const takeDuty = (runId: string) => sql<{ taskId: string; at: number; kind: DutyRow['kind'] }>`
  delete from agenda where run_id = ${runId} and kind in ('resume', 'skip')
  returning task_id as "taskId", scheduled_for as at, kind`

/** When the pause of a task ends by itself; no row when nothing says so. */
export const resumeDutyOf = (taskId: string) => sql<{ at: number }>`
  select scheduled_for as at from agenda where task_id = ${taskId} and kind = 'resume'`

export const dutyOf = (runId: string) => sql<{ taskId: string; projectId: string; isArchived: boolean }>`
  select a.task_id as "taskId", a.project_id as "projectId", p.archived_at is not null as "isArchived"
  from agenda a join project p on p.id = a.project_id where a.run_id = ${runId} and a.kind in ('resume', 'skip')`

/** Lets a pause that would end go on until the project is restored. */
export const pauseWithProject = (taskId: string) => sql`
  update task set archived_at = now(), resume_at = null where id = ${taskId} and paused_at is not null`

/** Takes back what makes up for an outage and has not begun, and records each of them as passed over by a pause. */
export const giveUpLate = (taskId: string) => sql`
  with late as (
    delete from agenda where task_id = ${taskId} and kind = 'catchup' and state in ('scheduled', 'held', 'deferred')
    returning *
  )
  insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind, state, reason)
  select run_id, task_id, project_id, scheduled_for, clock_timestamp(), version, ordinal, ordinal_base, fence, late_ms, attempt, losses, kind, 'skipped', 'paused'
  from late`

/** Lets occurrences up to an instant be skipped; null: none. */
export const markSkipped = (taskId: string, until: number | null, reason: string | null) => sql`
  update task set skip_until = to_timestamp(${until}::float8 / 1000), skip_reason = ${reason}, updated_at = greatest(updated_at, case when paused_at is null then now() else updated_at end)
  where id = ${taskId}`

export const markCancelled = (taskId: string) => sql<{ cancelledAt: number }>`
  update task set cancelled_at = coalesce(cancelled_at, now()), updated_at = now() where id = ${taskId}
  returning cancelled_at as "cancelledAt"`

export const markDeleted = (taskId: string) => sql<{ cancelledAt: number }>`
  update task set cancelled_at = coalesce(cancelled_at, now()), deleted_at = now(), updated_at = now() where id = ${taskId}
  returning cancelled_at as "cancelledAt"`

/** A waiting occurrence that a change took away or moved. */
export interface SweptRow {
  readonly ordinal: number
  readonly scheduledFor: number
}

/** Takes the task's waiting occurrences away. Manual runs stay: somebody asked for them. */
export const sweepScheduled = (taskId: string) => sql<SweptRow>`
  delete from agenda where task_id = ${taskId} and state = 'scheduled' and kind = 'occurrence'
  returning count_of(ordinal_base, ordinal) as ordinal, scheduled_for as "scheduledFor"`

/** Keeps active runs of a `delay` task from writing a next row when they end. */
export const endChains = (taskId: string) => sql`
  update agenda set delay_ms = null where task_id = ${taskId} and state <> 'scheduled' and delay_ms is not null`

/** How much is left by which the task would go on. */
export const countLoose = (taskId: string) => sql<{ count: number }>`
  select count(*)::integer as count from agenda
  where task_id = ${taskId} and case when state = 'scheduled' then kind = 'occurrence' else delay_ms is not null end`

/** Makes the latest active run of a task the one whose end writes the next row; no row when none is active. */
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

/** How far a task has come: the latest occurrence that is on its way or in history, and what the next one counts as. */
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

/** Whether an instant was ever an occurrence of the task that came to something, on time or caught up with. */
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
  /** A row of another kind than `occurrence` is followed by none. */
  readonly kind: 'occurrence' | 'catchup'
  /** By how much it is put off; null: not at all. */
  readonly jitterMs: number | null
}

export const insertNext = (row: NextRow) => sql`
  insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, jitter_ms, version, ordinal, ordinal_base, delay_ms, lane, priority, kind)
  values (${row.runId}, ${row.taskId}, ${row.projectId}, ${row.shard}, to_timestamp(${row.at + (row.jitterMs ?? 0)}::float8 / 1000),
          to_timestamp(${row.at}::float8 / 1000), ${row.jitterMs}, ${row.version},
          part_of_count(${row.ordinal}), base_of_count(${row.ordinal}), ${row.delayMs}, ${row.lane}, ${row.priority}, ${row.kind})
  on conflict on constraint agenda_occurrence_is_unique do nothing`

/** A run that a user asked for, as a row to insert. */
export interface ManualRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly shard: number
  readonly at: number
  readonly version: number
  readonly lane: number
  readonly priority: number
  /** Refuse when more runs than this are active or wait already; null: never. The fire decides again, one at a time. */
  readonly behindAtMost: number | null
}

/** Puts a manual run on the agenda, or answers with the run that is in the way. */
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
 * Waits until nobody is moving the task's runs from one state to another, and keeps it so for the rest of
 * the transaction: a run that is claimed or put off while it is being cancelled would escape.
 */
export const lockRuns = ({ taskId, runId }: { taskId: string; runId: string | null }) => sql`
  select run_id from agenda
  where task_id = ${taskId} and (${runId}::uuid is null or run_id = ${runId}::uuid)
  order by run_id for update`

/**
 * Ends what is waiting (pending, retrying, held, deferred, or a manual run not yet fired) as cancelled, and asks the
 * workers to stop what is running. The rows must be locked before, by `lockRuns`. A row in ready that a claim
 * has locked is left to that claim, which waits for ours in agenda and then finds that it leads nowhere.
 * With `runId` only that run is meant; the chain of a `delay` task then goes on, else it ends.
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

/** Locks the task whatever it is, as every change to it does. */
export const lockTaskRow = (taskId: string) => sql<{ id: string }>`
  select id from task where id = ${taskId} for update`

/** Wakes the first of the runs that wait for an earlier one of their task; no row when none does. */
export const wakeHeld = (taskId: string) => sql<{ shard: number; at: number }>`
  update agenda set wake_at = date_trunc('milliseconds', clock_timestamp()), fence = fence + 1
  where state = 'held' and run_id = (
    select run_id from agenda where task_id = ${taskId} and state = 'held'
    order by kind = 'catchup', scheduled_for, run_id limit 1)
  returning shard, wake_at as at`

/** A stretch of occurrences that did not run, and why. */
export interface RangeSkip {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly version: number
  /** What the occurrence after these counts as: what did not run was not counted. */
  readonly ordinal: number
  readonly first: number
  readonly last: number
  readonly count: number | null
  readonly reason: SkipReason
  /** Set where they have failed rather than been skipped. */
  readonly error?: { readonly code: string; readonly message: string } | null
}

/** One row that speaks for a stretch of occurrences that did not run. */
export const insertSkip = (skip: RangeSkip) => sql`
  insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, ordinal_base, kind, state, reason, error)
  values (${skip.runId}, ${skip.taskId}, ${skip.projectId}, to_timestamp(${skip.first}::float8 / 1000), clock_timestamp(),
          to_timestamp(${skip.last}::float8 / 1000), ${skip.count}, ${skip.version}, part_of_count(${skip.ordinal}), base_of_count(${skip.ordinal}), 'occurrence',
          ${skip.error ? 'permanently_failed' : 'skipped'}::run_state, ${skip.reason}, ${skip.error ? JSON.stringify(skip.error) : null}::jsonb)`
