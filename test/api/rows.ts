/** A task's rows as the tables hold them, and moving them: tests move the data, not the clock. */
import type { Queryable } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'

export interface AgendaRow {
  readonly runId: string
  readonly kind: string
  readonly state: string
  readonly scheduledFor: number
  readonly version: number
  readonly ordinal: number
  readonly delayMs: number | null
}

export const agendaOf = (db: Queryable, taskId: string): Promise<AgendaRow[]> =>
  db.run(sql<AgendaRow>`
    select run_id as "runId", kind, state, scheduled_for as "scheduledFor", version, ordinal, delay_ms as "delayMs"
    from agenda where task_id = ${taskId} order by scheduled_for, kind`)

export interface HistoryRow {
  readonly kind: string
  readonly state: string
  readonly reason: string | null
  readonly scheduledFor: number
  readonly until: number | null
  readonly count: number | null
  readonly version: number
  readonly ordinal: number
}

export const historyOf = (db: Queryable, taskId: string): Promise<HistoryRow[]> =>
  db.run(sql<HistoryRow>`
    select kind, state, reason, scheduled_for as "scheduledFor", covers_until as until, covers_count as count, version, ordinal
    from run where task_id = ${taskId} order by scheduled_for, ended_at`)

/** Moves the waiting row of a task to another instant. */
export const moveWaiting = (db: Queryable, taskId: string, at: number) =>
  db.run(sql`
    update agenda set wake_at = to_timestamp(${at}::float8 / 1000), scheduled_for = to_timestamp(${at}::float8 / 1000)
    where task_id = ${taskId} and state = 'scheduled' and kind = 'occurrence'`)

/** Lets a pause, or the last recording of what it passes over, have been at another instant. */
export const movePause = (db: Queryable, taskId: string, at: number) =>
  db.run(sql`
    update task set paused_at = to_timestamp(${at}::float8 / 1000), updated_at = to_timestamp(${at}::float8 / 1000)
    where id = ${taskId}`)

/** Puts the waiting row of a task into another state, as if a scheduler or worker had. */
export const forceState = (db: Queryable, taskId: string, state: 'pending' | 'retrying') =>
  db.run(sql`
    update agenda set state = ${state}::agenda_state, attempt = case when ${state} = 'retrying' then 1 else 0 end
    where task_id = ${taskId} and state = 'scheduled'`)
