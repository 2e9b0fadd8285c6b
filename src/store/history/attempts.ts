/** Reads attempts: those followed by another attempt have their own rows, the last one is part of its run. */
import type { AttemptOutcome } from '../../core/run/run.ts'
import { MAX_PAGE_BYTES, outcomeBytes, type PageRow } from '../database/page-bytes.ts'
import { sql } from '../database/sql.ts'

/** An ended attempt as read. */
export interface AttemptRow extends PageRow {
  readonly runId: string
  readonly number: number
  readonly outcome: AttemptOutcome
  /** Whether it is the last attempt of a run that failed permanently. */
  readonly isFinal: boolean
  readonly scheduledFor: number
  readonly startedAt: number | null
  readonly endedAt: number
  readonly workerId: string | null
  readonly fence: number
  readonly output: unknown
  readonly error: unknown
}

/** Identifies a run whose earlier attempts to read. */
export interface EarlierAttempts {
  readonly runId: string
  readonly scheduledFor: number
  /** History before the day of this instant need not be searched. */
  readonly madeAt: number
}

/** Returns the attempts of a run that were followed by another. */
export const earlierAttempts = ({ runId, scheduledFor, madeAt }: EarlierAttempts) => sql<AttemptRow>`
  select run_id as "runId", number, outcome, false as "isFinal", to_timestamp(${scheduledFor}::float8 / 1000) as "scheduledFor",
         started_at as "startedAt", ended_at as "endedAt", worker_id as "workerId", fence, output, error
  from attempt where run_id = ${runId} and ended_at >= to_timestamp(${madeAt}::float8 / 1000) - interval '1 day'
  order by number`

/** Which attempts of a task to read. */
export interface AttemptPage {
  readonly projectId: string
  readonly taskId: string
  readonly before?:
    | { readonly scheduledFor: number; readonly runId: string; readonly number: number }
    | undefined
  readonly limit: number
}

/**
 * Returns ended attempts of a task, those of the latest run first and the last attempt of each run first. Runs are read along
 * their index: only those with ended attempts, and one more than the number of attempts wanted, because the run in which the
 * previous page ended may have none left. Few runs had more than one attempt, so the table of attempts is rarely read. No more
 * than a page may hold is returned.
 */
export const attemptsOfTask = ({ projectId, taskId, before, limit }: AttemptPage) => sql<AttemptRow>`
  with runs as (
    (select run_id, scheduled_for, attempt, null::text as outcome, null::run_state as state, null::timestamptz as started_at,
            null::timestamptz as ended_at, worker_id, fence, null::jsonb as output, null::jsonb as error
     from agenda
     where project_id = ${projectId} and task_id = ${taskId} and attempt > case when state = 'running' then 1 else 0 end
       and (${before?.runId ?? null}::uuid is null
            or (scheduled_for, run_id) <= (to_timestamp(${before?.scheduledFor ?? null}::float8 / 1000), ${before?.runId ?? null}::uuid))
     order by scheduled_for desc, run_id desc limit ${limit} + 1)
    union all
    (select run_id, scheduled_for, attempt, outcome, state, started_at, ended_at, worker_id, fence, output, error
     from run
     where project_id = ${projectId} and task_id = ${taskId} and attempt > 0
       and (${before?.runId ?? null}::uuid is null
            or (scheduled_for, run_id) <= (to_timestamp(${before?.scheduledFor ?? null}::float8 / 1000), ${before?.runId ?? null}::uuid))
     order by scheduled_for desc, run_id desc limit ${limit} + 1)
  )
  select * from (
  select x.*, lead(true, 1, false) over latest as "hasNext",
         coalesce(sum(${outcomeBytes}) over (latest rows between unbounded preceding and 1 preceding), 0) as bytes_before
  from (
    select run_id as "runId", attempt as number, outcome, state = 'permanently_failed' as "isFinal", scheduled_for as "scheduledFor",
           started_at as "startedAt", ended_at as "endedAt", worker_id as "workerId", fence, output, error
    from runs where outcome is not null
    union all
    select a.run_id, a.number, a.outcome, false, r.scheduled_for, a.started_at, a.ended_at, a.worker_id, a.fence, a.output, a.error
    from runs r join attempt a on a.run_id = r.run_id
    where r.attempt > 1 or r.outcome is null
  ) x
  where ${before?.runId ?? null}::uuid is null
     or ("scheduledFor", "runId", number)
        < (to_timestamp(${before?.scheduledFor ?? null}::float8 / 1000), ${before?.runId ?? null}::uuid, ${before?.number ?? null}::integer)
  window latest as (order by "scheduledFor" desc, "runId" desc, number desc)
  order by "scheduledFor" desc, "runId" desc, number desc limit ${limit}
  ) page
  where bytes_before <= ${MAX_PAGE_BYTES}::integer
  order by "scheduledFor" desc, "runId" desc, number desc`

/** When an attempt began and ended, and why it failed. */
export interface AttemptTime {
  readonly runId: string
  readonly number: number
  /** Null while the attempt is in progress. */
  readonly outcome: AttemptOutcome | null
  /** Null if unknown. */
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly reason: string | null
}

/** Returns the latest attempts of all runs of a task, oldest first, including those in progress. */
export const attemptTimes = ({ taskId, limit }: { taskId: string; limit: number }) => sql<AttemptTime>`
  select * from (
    select x.run_id as "runId", x.number, x.outcome, x.started_at as "startedAt", x.ended_at as "endedAt", left(x.reason, 1000) as reason
    from (
      (select run_id, number, outcome, started_at, ended_at, error ->> 'message' as reason from attempt
       where task_id = ${taskId} order by ended_at desc limit ${limit})
      union all
      (select run_id, attempt, outcome, started_at, ended_at, error ->> 'message' from run
       where task_id = ${taskId} and attempt > 0 order by scheduled_for desc, run_id desc limit ${limit})
      union all
      (select run_id, attempt, null, greatest(claimed_at, wake_at, scheduled_for), null, null from agenda
       where task_id = ${taskId} and state = 'running' limit ${limit})
    ) x
    order by coalesce(x.started_at, x.ended_at) desc, x.run_id desc, x.number desc
    limit ${limit}
  ) latest
  order by coalesce("startedAt", "endedAt"), "runId", number`
