/** Ending what a held run of a `cancel_previous` task waits for. */
import { elements, list, reading, sql } from '../database/sql.ts'

/** A run that is held, and takes the place of what is active of its task. */
export interface HeldRun {
  readonly taskId: string
  readonly runId: string
}

/** What came of telling what is active to stop. */
export interface Told {
  /** How many runs were told. */
  readonly count: number
  /** Held runs that wait for others as well, which no worker has: those are ended rather than told. */
  readonly left: readonly string[]
}

/**
 * Tells what runs before held runs to stop, of many tasks at once; what waits no more tells nobody. A row that somebody is
 * just moving is left alone, so that this waits for nobody: it is ending, or the held run is looked at again.
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

/** The active runs that a held one waits for, as far as nobody has asked them to stop; none when it waits no more. */
export const activeBefore = ({ taskId, runId }: HeldRun) => sql<{ runId: string }>`
  select run_id as "runId" from agenda
  where task_id = ${taskId} and state in ('pending', 'running', 'retrying') and kind <> 'backfill' and run_id <> ${runId}::uuid and cancel_at is null
    and exists (select from agenda where run_id = ${runId}::uuid and state = 'held')`
