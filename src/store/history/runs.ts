/**
 * Reads runs: live ones from the agenda, ended ones from history. A row of the agenda is a run once it was fired, or if a user
 * requested it; a future occurrence is not a run.
 */
import {
  type AttemptOutcome,
  type EndedRunState,
  isLiveState,
  type RunKind,
  type RunState,
} from '../../core/run/run.ts'
import { MAX_PAGE_BYTES, outcomeBytes, type PageRow } from '../database/page-bytes.ts'
import { list, part, sql } from '../database/sql.ts'

/** A run as read, live or ended. */
export interface RunRow extends PageRow {
  readonly id: string
  readonly taskId: string
  /** The name of its task, or the task's key if it has no name. */
  readonly taskName: string | null
  /** The run that it repeats. */
  readonly retryOf: string | null
  readonly kind: RunKind
  readonly state: RunState
  readonly reason: string | null
  readonly scheduledFor: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** When a retrying run starts its next attempt. */
  readonly retryAt: number | null
  readonly coversUntil: number | null
  readonly coversCount: number | null
  readonly version: number
  readonly attempt: number
  readonly losses: number
  readonly fence: number
  readonly lateMs: number | null
  readonly workerId: string | null
  readonly outcome: AttemptOutcome | null
  readonly output: unknown
  readonly error: unknown
  readonly cancelRequestedAt: number | null
}

/** The columns of a run from its row in the agenda; a run that waits is pending, whatever it waits for. */
export const liveRun = part`
    run_id as id, task_id as "taskId", kind, case when state in ('scheduled', 'held', 'deferred') then 'pending' else state::text end as state,
    null::text as reason, scheduled_for as "scheduledFor",
    case when state = 'running' and greatest(wake_at, scheduled_for) <= now() then greatest(claimed_at, wake_at, scheduled_for) end as "startedAt", null::timestamptz as "endedAt",
    case when state = 'retrying' then wake_at end as "retryAt", null::timestamptz as "coversUntil", null::integer as "coversCount",
    version, attempt, losses, fence, late_ms as "lateMs", worker_id as "workerId", null::text as outcome, null::jsonb as output,
    null::jsonb as error, cancel_at as "cancelRequestedAt"`

/** The same columns, in the same order, from a history row. */
export const endedRun = part`
    run_id, task_id, kind, state::text, reason, scheduled_for, started_at, ended_at, null, covers_until, covers_count,
    version, attempt, losses, fence, late_ms, worker_id, outcome, output, error, null`

/** The same without output and error, which may be long. */
const endedRunBriefly = part`
    run_id, task_id, kind, state::text, reason, scheduled_for, started_at, ended_at, null, covers_until, covers_count,
    version, attempt, losses, fence, late_ms, worker_id, outcome, null, null, null`

/** Which runs of a task to read. */
export interface RunPage {
  readonly projectId: string
  readonly taskId: string
  readonly state?: RunState | undefined
  readonly before?: { readonly scheduledFor: number; readonly id: string } | undefined
  /** Only runs that were due at or after `from` and before `to`. */
  readonly from?: number | null
  readonly to?: number | null
  /** Leaves out outputs and errors, so that the size limit does not shorten the list. */
  readonly isBrief?: boolean
  readonly limit: number
}

/**
 * Returns runs of a task, latest occurrence first. Both parts are read along an index by task and instant; runs that did not
 * complete have an index by task, state and instant, which is usable because the state is compared as it is stored.
 */
export const runsOfTask = ({
  projectId,
  taskId,
  state,
  before,
  from = null,
  to = null,
  isBrief = false,
  limit,
}: RunPage) => sql<RunRow>`
  select r.*, (select coalesce(name, key) from task where id = r."taskId") as "taskName",
         (select retry_of from run_retry where run_id = r.id) as "retryOf"
  from (
    select found.*, lead(true, 1, false) over latest as "hasNext",
           coalesce(sum(${outcomeBytes}) over (latest rows between unbounded preceding and 1 preceding), 0) as bytes_before
    from (
    (select ${liveRun} from agenda
     where project_id = ${projectId} and task_id = ${taskId} and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
       and (${state ?? null}::text is null or case when state in ('scheduled', 'held', 'deferred') then 'pending' else state::text end = ${state ?? null})
       and (${before?.id ?? null}::uuid is null
            or (scheduled_for, run_id) < (to_timestamp(${before?.scheduledFor ?? null}::float8 / 1000), ${before?.id ?? null}::uuid))
       and (${from}::float8 is null or scheduled_for >= to_timestamp(${from}::float8 / 1000))
       and (${to}::float8 is null or scheduled_for < to_timestamp(${to}::float8 / 1000))
     order by scheduled_for desc, run_id desc limit ${limit})
    union all
    (select ${isBrief ? endedRunBriefly : endedRun} from run
     where project_id = ${projectId} and task_id = ${taskId}
       and not ${state !== undefined && isLiveState(state)}::boolean
       and (${endedState(state)}::run_state is null or state = ${endedState(state)}::run_state)
       and (${before?.id ?? null}::uuid is null
            or (scheduled_for, run_id) < (to_timestamp(${before?.scheduledFor ?? null}::float8 / 1000), ${before?.id ?? null}::uuid))
       and (${from}::float8 is null or scheduled_for >= to_timestamp(${from}::float8 / 1000))
       and (${to}::float8 is null or scheduled_for < to_timestamp(${to}::float8 / 1000))
     order by scheduled_for desc, run_id desc limit ${limit})
    order by "scheduledFor" desc, id desc limit ${limit}
    ) found
    window latest as (order by "scheduledFor" desc, id desc)
  ) r
  where bytes_before <= ${MAX_PAGE_BYTES}::integer
  order by "scheduledFor" desc, id desc`

/** Returns the state if runs in history can have it, otherwise null. */
const endedState = (state: RunState | undefined): EndedRunState | null =>
  state === undefined || isLiveState(state) ? null : state

/** An ended run as shown in the strip of latest runs. */
export interface RecentRun {
  readonly id: string
  readonly state: EndedRunState
  readonly reason: string | null
  readonly scheduledFor: number
  readonly startedAt: number | null
  readonly endedAt: number
  readonly lateMs: number | null
}

/**
 * Returns the latest ended runs of each task, latest due instant first; tasks without any have no row. It reads one index range
 * per task, in one statement. The result is JSON, because the driver takes five times as long for thousands of rows.
 */
export const recentRuns = ({ taskIds, limit }: { taskIds: readonly string[]; limit: number }) => sql<{
  taskId: string
  runs: readonly RecentRun[]
}>`
  select t.id as "taskId", recent.runs from unnest(${list(taskIds, (id) => id)}::uuid[]) as t(id)
  cross join lateral (
    select json_agg(json_build_object(
             'id', run_id, 'state', state, 'reason', reason, 'scheduledFor', floor(date_part('epoch', scheduled_for) * 1000),
             'startedAt', floor(date_part('epoch', started_at) * 1000), 'endedAt', floor(date_part('epoch', ended_at) * 1000),
             'lateMs', case when kind <> 'backfill' then late_ms end) order by scheduled_for desc, run_id desc) as runs
    from (
      select run_id, kind, state, reason, scheduled_for, started_at, ended_at, late_ms from run
      where task_id = t.id order by scheduled_for desc, run_id desc limit ${limit}
    ) latest
  ) recent
  where recent.runs is not null`

/** Returns one run, live or ended. `madeAt` is the instant in its id: history before that day need not be searched. */
export const runById = ({
  projectId,
  id,
  madeAt,
}: {
  projectId: string
  id: string
  madeAt: number
}) => sql<RunRow>`
  select r.*, (select coalesce(name, key) from task where id = r."taskId") as "taskName",
         (select retry_of from run_retry where run_id = r.id) as "retryOf"
  from (
  select ${liveRun} from agenda
  where project_id = ${projectId} and run_id = ${id} and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
  union all
  select ${endedRun} from run
  where project_id = ${projectId} and run_id = ${id} and ended_at >= to_timestamp(${madeAt}::float8 / 1000) - interval '1 day'
  ) r`

/** Records which run a rerun repeats. */
export const insertRetry = ({ runId, retryOf }: { runId: string; retryOf: string }) =>
  sql`insert into run_retry (run_id, retry_of) values (${runId}, ${retryOf})`

/** Returns the latest reruns of a run, oldest first. */
export const retriesOf = ({ runId, limit }: { runId: string; limit: number }) => sql<{ id: string }>`
  select run_id as id from (
    select run_id from run_retry where retry_of = ${runId} order by run_id desc limit ${limit}
  ) r
  order by run_id`

/**
 * Deletes the records of reruns that were requested so long ago that retention has deleted the runs; `before` is the lowest id
 * to keep.
 */
export const deleteOldRetries = (before: string) => sql`delete from run_retry where run_id < ${before}::uuid`
