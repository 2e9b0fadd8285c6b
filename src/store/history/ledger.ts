/**
 * The data from which the ledger of a task is computed. Everything is read along the indexes by task and instant, and no query
 * reads more than its limit, however much history the task has.
 */
import type { LedgerRow } from '../../core/ledger/ledger.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { reading, sql } from '../database/sql.ts'
import { type StoredDefinition, wholeDefinition } from '../tasks/stored-definition.ts'

/** A task as the ledger needs it. */
export interface LedgerTask {
  /** The database's time of this result. */
  readonly now: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly pausedAt: number | null
  /** The pause began when the task was created. */
  readonly isPausedFromStart: boolean
  readonly cancelledAt: number | null
  readonly version: number
  readonly definition: TaskDefinition
}

/** Actions and metadata may be large, and do not affect the schedule. */
const WITHOUT_ACTION = '{action,metadata}'

export const ledgerTask = ({ projectId, taskId }: { projectId: string; taskId: string }) =>
  reading(
    sql<Omit<LedgerTask, 'definition'> & { definition: StoredDefinition }>`
      select now() as now, created_at as "createdAt", updated_at as "updatedAt", paused_at as "pausedAt",
             coalesce(paused_at = created_at, false) as "isPausedFromStart", cancelled_at as "cancelledAt", version, definition::jsonb - ${WITHOUT_ACTION}::text[] as definition
      from task where project_id = ${projectId} and id = ${taskId} and deleted_at is null`,
    (rows): LedgerTask[] => rows.map((row) => ({ ...row, definition: wholeDefinition(row.definition) })),
  )

/** A version that an edit has replaced. */
export interface PastVersion {
  readonly version: number
  readonly until: number
  readonly definition: TaskDefinition
}

/** Returns versions that had occurrences at or after an instant, latest first. */
export const pastVersions = ({ taskId, from, limit }: { taskId: string; from: number; limit: number }) =>
  reading(
    sql<Omit<PastVersion, 'definition'> & { definition: StoredDefinition }>`
      select version, coalesce(due_until, replaced_at) as until, definition::jsonb - ${WITHOUT_ACTION}::text[] as definition
      from task_version
      where task_id = ${taskId} and coalesce(due_until, replaced_at) >= to_timestamp(${from}::float8 / 1000)
      order by version desc limit ${limit}`,
    (rows): PastVersion[] => rows.map((row) => ({ ...row, definition: wholeDefinition(row.definition) })),
  )

/** Which rows of a task to read, by their due instants. */
export interface LedgerRange {
  readonly taskId: string
  readonly from: number
  readonly to: number
  readonly limit: number
}

/** Returns history rows that were due in a time range, in order. */
export const historyBetween = ({ taskId, from, to, limit }: LedgerRange) => sql<LedgerRow>`
  select run_id as "runId", kind, state, reason, scheduled_for as "scheduledFor", ended_at as "endedAt", covers_until as "coversUntil",
         version, count_of(ordinal_base, ordinal) as ordinal
  from run
  where task_id = ${taskId} and scheduled_for >= to_timestamp(${from}::float8 / 1000) and scheduled_for <= to_timestamp(${to}::float8 / 1000)
  order by scheduled_for, run_id limit ${limit}`

/** Maximum number of rows of each state, before a range, that are searched for one that covers its beginning. */
const MAX_SKIPS_LOOKED_AT = 200

/** Returns the latest row due before `from` that covers `from`: occurrences that were skipped, or failed without having run. */
export const skipBefore = ({ taskId, from }: { taskId: string; from: number }) => sql<LedgerRow>`
  select run_id as "runId", kind, state, reason, scheduled_for as "scheduledFor", ended_at as "endedAt", covers_until as "coversUntil",
         version, count_of(ordinal_base, ordinal) as ordinal
  from (
    (select * from run
     where task_id = ${taskId} and state = 'skipped' and state <> 'completed' and scheduled_for < to_timestamp(${from}::float8 / 1000)
     order by scheduled_for desc, run_id desc limit ${MAX_SKIPS_LOOKED_AT})
    union all
    (select * from run
     where task_id = ${taskId} and state = 'permanently_failed' and state <> 'completed' and scheduled_for < to_timestamp(${from}::float8 / 1000)
     order by scheduled_for desc, run_id desc limit ${MAX_SKIPS_LOOKED_AT})
  ) skip
  where covers_until >= to_timestamp(${from}::float8 / 1000) and kind <> 'manual'
  order by scheduled_for desc limit 1`

/** Runs before a period that are searched for the latest one that was not triggered manually. */
const MAX_RUNS_LOOKED_AT = 5_000

/** Returns the latest occurrence in history that was due before `from`. */
export const occurrenceBefore = ({ taskId, from }: { taskId: string; from: number }) => sql<LedgerRow>`
  select run_id as "runId", kind, state, reason, scheduled_for as "scheduledFor", ended_at as "endedAt", covers_until as "coversUntil",
         version, count_of(ordinal_base, ordinal) as ordinal
  from (
    select * from run
    where task_id = ${taskId} and scheduled_for < to_timestamp(${from}::float8 / 1000)
    order by scheduled_for desc, run_id desc limit ${MAX_RUNS_LOOKED_AT}
  ) earlier
  where kind in ('occurrence', 'catchup')
  order by scheduled_for desc limit 1`

/** Returns the live rows of a task, scheduled and active, except manual runs and `resume` rows. */
export const liveOccurrences = ({ taskId, limit }: { taskId: string; limit: number }) => sql<LedgerRow>`
  select run_id as "runId", kind, state, null as reason, scheduled_for as "scheduledFor", null::timestamptz as "endedAt",
         null::timestamptz as "coversUntil", version, count_of(ordinal_base, ordinal) as ordinal
  from agenda where task_id = ${taskId} and kind not in ('manual', 'resume')
  order by scheduled_for, run_id limit ${limit}`
