/** Ends the runs that a held run of a `cancel_previous` task waits for. */
import { elements, list, reading, sql } from '../database/sql.ts'

/** A held run that replaces the active runs of its task. */
export interface HeldRun {
  readonly taskId: string
  readonly runId: string
}

/** Result of asking active runs to stop. */
export interface Told {
  /** Number of runs that were asked to stop. */
  readonly count: number
  /** Held runs that also wait for runs that no worker has; the caller ends those directly. */
  readonly left: readonly string[]
}

/**
 * Asks the running runs before the given held runs to stop, for many tasks at once; a run that is no longer held is ignored.
 * Locked rows are skipped, so that this statement waits for no other: either such a run is ending, or the held run will be
 * checked again.
 */
export const tellBefore = (held: readonly HeldRun[]) =>
  reading(
    sql<{ count: number; left: string }>`
      with waiting as materialized (
        select i.task_id, i.run_id from unnest(${list(held, (run) => run.taskId)}::uuid[], ${list(held, (run) => run.runId)}::uuid[]) as i(task_id, run_id)
        join agenda h on h.run_id = i.run_id and h.state = 'held'
      ), active as materialized (
        select w.run_id as held_id, a.run_id, a.state from waiting w join agenda a on a.task_id = w.task_id and a.run_id <> w.run_id
        where a.state in ('pending', 'running', 'retrying') and a.kind <> 'backfill' and a.cancel_at is null
      ), told as (
        update agenda set cancel_at = now() where run_id = any(array(
          select run_id from agenda where run_id = any(array(select run_id from active where state = 'running'))
            and state = 'running' and cancel_at is null
          for update skip locked))
        returning run_id
      )
      select (select count(*)::integer from told) as count,
             array(select distinct held_id from active where state <> 'running')::text as left`,
    (rows): Told[] => rows.map((row) => ({ ...row, left: elements(row.left) })),
  )

/** Returns the active runs that a held run waits for and that have not been asked to stop; none if it is no longer held. */
export const activeBefore = ({ taskId, runId }: HeldRun) => sql<{ runId: string }>`
  select run_id as "runId" from agenda
  where task_id = ${taskId} and state in ('pending', 'running', 'retrying') and kind <> 'backfill' and run_id <> ${runId}::uuid and cancel_at is null
    and exists (select from agenda where run_id = ${runId}::uuid and state = 'held')`
