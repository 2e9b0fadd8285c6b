/** Pauses tasks and resumes them. A pause has a reason and may have an end; task_pause keeps the pauses of the past. */
import { sql } from '../database/sql.ts'
import { storedOrdinal } from './stored-ordinal.ts'

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
  update task set paused_at = now(), updated_at = now(), next_ordinal = ${storedOrdinal(nextOrdinal)}, pause_reason = ${reason},
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
