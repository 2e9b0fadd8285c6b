/** Cancels tasks and runs. */
import { nextOfChain } from '../agenda/chain.ts'
import { part, sql } from '../database/sql.ts'
import { dequeued } from '../ready/put.ts'

export const markCancelled = (taskId: string) => sql<{ cancelledAt: number }>`
  update task set cancelled_at = coalesce(cancelled_at, now()), updated_at = now() where id = ${taskId}
  returning cancelled_at as "cancelledAt"`

export const markDeleted = (taskId: string) => sql<{ cancelledAt: number }>`
  update task set cancelled_at = coalesce(cancelled_at, now()), deleted_at = now(), updated_at = now() where id = ${taskId}
  returning cancelled_at as "cancelledAt"`

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

/** Wakes the first of the runs that are held for an earlier run of their task; no row if there is none. */
export const wakeHeld = (taskId: string) => sql<{ shard: number; at: number }>`
  update agenda set wake_at = date_trunc('milliseconds', clock_timestamp()), fence = fence + 1
  where state = 'held' and run_id = (
    select run_id from agenda where task_id = ${taskId} and state = 'held'
    order by kind = 'catchup', scheduled_for, run_id limit 1)
  returning shard, wake_at as at`
