/**
 * Locks a task for a change. A change that affects the rows of a task in the agenda runs in a transaction that first locks the
 * task, so that changes to one task are serialised, and then removes everything by which the task would continue: its scheduled
 * rows, and the next rows that its active runs would write. This is repeated until nothing is left, because a fire or an end in
 * progress holds the lock of the row it works on: the statement waits for it, and the next statement sees the row that it wrote.
 * Pausing, editing and firing contend for the row in the agenda; no fire reads the task to find out whether it may proceed.
 */
import type { TaskDefinition } from '../../core/task/task.ts'
import { reading, sql } from '../database/sql.ts'
import { withDefinitions } from './stored-definition.ts'

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
  readonly pauseReason: string | null
  /** When the pause ends by itself. */
  readonly resumeAt: number | null
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
             paused_at as "pausedAt", pause_reason as "pauseReason", resume_at as "resumeAt", coalesce(paused_at = created_at, false) as "isPausedFromStart", awaits_files and paused_at is not null as "awaitsFiles", cancelled_at as "cancelledAt", skip_until as "skipUntil",
             coalesce(settled_as_of = updated_at, false) as "isSettled"
      from task where project_id = ${projectId} and id = ${taskId} and deleted_at is null
      for update`,
    withDefinitions,
  )

/** Locks the task in any state, as every change to it does. */
export const lockTaskRow = (taskId: string) => sql<{ id: string }>`
  select id from task where id = ${taskId} for update`
