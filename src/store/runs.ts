/** Reading runs and attempts: what is live comes from agenda, what has ended from history. */
import type { AttemptOutcome, RunKind, RunState } from '../core/run.ts'
import { sql } from './sql.ts'

export interface RunRow {
  readonly id: string
  readonly taskId: string
  readonly kind: RunKind
  readonly state: RunState
  readonly reason: string | null
  readonly scheduledFor: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** When a retrying run is tried again. */
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

export interface RunPage {
  readonly projectId: string
  readonly taskId: string
  readonly state?: RunState | undefined
  readonly before?: { readonly scheduledFor: number; readonly id: string } | undefined
  readonly limit: number
}

/** Runs of a task, latest occurrence first. Both halves are read along an index by task and instant. */
export const runsOfTask = ({ projectId, taskId, state, before, limit }: RunPage) => sql<RunRow>`
  select * from (
    (select run_id as id, task_id as "taskId", kind, state::text as state, null::text as reason, scheduled_for as "scheduledFor",
            claimed_at as "startedAt", null::timestamptz as "endedAt",
            case when state = 'retrying' then wake_at end as "retryAt", null::timestamptz as "coversUntil", null::integer as "coversCount",
            version, attempt, losses, fence, late_ms as "lateMs", worker_id as "workerId", null::text as outcome, null::jsonb as output,
            null::jsonb as error, cancel_at as "cancelRequestedAt"
     from agenda
     where project_id = ${projectId} and task_id = ${taskId} and (state <> 'scheduled' or kind = 'manual')
       and (${state ?? null}::text is null or state::text = ${state ?? null})
       and (${before?.id ?? null}::uuid is null
            or (scheduled_for, run_id) < (to_timestamp(${before?.scheduledFor ?? null}::float8 / 1000), ${before?.id ?? null}::uuid))
     order by scheduled_for desc, run_id desc limit ${limit})
    union all
    (select run_id, task_id, kind, state::text, reason, scheduled_for, started_at, ended_at, null, covers_until, covers_count, version,
            attempt, losses, fence, late_ms, worker_id, outcome, output, error, null
     from run
     where project_id = ${projectId} and task_id = ${taskId}
       and (${state ?? null}::text is null or state::text = ${state ?? null})
       and (${before?.id ?? null}::uuid is null
            or (scheduled_for, run_id) < (to_timestamp(${before?.scheduledFor ?? null}::float8 / 1000), ${before?.id ?? null}::uuid))
     order by scheduled_for desc, run_id desc limit ${limit})
  ) r
  order by "scheduledFor" desc, id desc limit ${limit}`

/** One run, live or ended. `madeAt` is the instant in its id: history before that day need not be asked. */
export const runById = ({
  projectId,
  id,
  madeAt,
}: {
  projectId: string
  id: string
  madeAt: number
}) => sql<RunRow>`
  select run_id as id, task_id as "taskId", kind, case when state = 'scheduled' then 'pending' else state::text end as state, null::text as reason,
         scheduled_for as "scheduledFor", claimed_at as "startedAt", null::timestamptz as "endedAt",
         case when state = 'retrying' then wake_at end as "retryAt", null::timestamptz as "coversUntil", null::integer as "coversCount",
         version, attempt, losses, fence, late_ms as "lateMs", worker_id as "workerId", null::text as outcome, null::jsonb as output,
         null::jsonb as error, cancel_at as "cancelRequestedAt"
  from agenda where project_id = ${projectId} and run_id = ${id} and (state <> 'scheduled' or kind = 'manual')
  union all
  select run_id, task_id, kind, state::text, reason, scheduled_for, started_at, ended_at, null, covers_until, covers_count, version,
         attempt, losses, fence, late_ms, worker_id, outcome, output, error, null
  from run where project_id = ${projectId} and run_id = ${id} and ended_at >= to_timestamp(${madeAt}::float8 / 1000) - interval '1 day'`

export interface AttemptRow {
  readonly runId: string
  readonly number: number
  readonly outcome: AttemptOutcome
  /** True for the last attempt of a run that gave up. */
  readonly isFinal: boolean
  readonly scheduledFor: number | null
  readonly startedAt: number | null
  readonly endedAt: number
  readonly workerId: string | null
  readonly fence: number
  readonly output: unknown
  readonly error: unknown
}

/** Attempts of a run that were followed by another; the last one is told by the run itself. */
export const earlierAttempts = ({ runId, madeAt }: { runId: string; madeAt: number }) => sql<AttemptRow>`
  select run_id as "runId", number, outcome, false as "isFinal", null::timestamptz as "scheduledFor", started_at as "startedAt",
         ended_at as "endedAt", worker_id as "workerId", fence, output, error
  from attempt where run_id = ${runId} and ended_at >= to_timestamp(${madeAt}::float8 / 1000) - interval '1 day'
  order by number`

export interface AttemptPage {
  readonly projectId: string
  readonly taskId: string
  readonly before?: { readonly endedAt: number; readonly runId: string; readonly number: number } | undefined
  readonly limit: number
}

/** All ended attempts of a task, latest first. */
export const attemptsOfTask = ({ projectId, taskId, before, limit }: AttemptPage) => sql<AttemptRow>`
  select * from (
    select a.run_id as "runId", a.number, a.outcome, false as "isFinal", null::timestamptz as "scheduledFor", a.started_at as "startedAt",
           a.ended_at as "endedAt", a.worker_id as "workerId", a.fence, a.output, a.error
    from attempt a join task t on t.id = a.task_id
    where t.project_id = ${projectId} and a.task_id = ${taskId}
    union all
    select run_id, attempt, outcome, state = 'permanently_failed', scheduled_for, started_at, ended_at, worker_id, fence, output, error
    from run where project_id = ${projectId} and task_id = ${taskId} and outcome is not null
  ) x
  where ${before?.runId ?? null}::uuid is null
     or ("endedAt", "runId", number)
        < (to_timestamp(${before?.endedAt ?? null}::float8 / 1000) + interval '999 microseconds', ${before?.runId ?? null}::uuid, ${before?.number ?? null}::integer)
  order by "endedAt" desc, "runId" desc, number desc limit ${limit}`
