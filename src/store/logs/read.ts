/**
 * Reads logs of runs. The rows of an attempt are in the partition of the day of its claim; the run limits when its attempts can
 * have been claimed.
 */
import type { LogPosition, ReadRow } from '../../core/run/log-line.ts'
import type { RunState } from '../../core/run/run.ts'
import { list, sql } from '../database/sql.ts'

/** A run whose log is read. */
export interface RunWithLog {
  readonly runId: string
  readonly state: RunState
  /** None of its attempts was claimed earlier; epoch milliseconds. */
  readonly claimedFrom: number
  /** None of its attempts was claimed later; null while the run is live. */
  readonly claimedUntil: number | null
}

/**
 * Returns one run, live or ended. The id contains its creation time, and no run is claimed before the instant it is for.
 * `madeAt` is as in `runById`: the clocks of nodes may differ by a day.
 */
export const runWithLog = ({
  projectId,
  runId,
  madeAt,
}: {
  projectId: string
  runId: string
  madeAt: number
}) => sql<RunWithLog>`
  select run_id as "runId", state, ended_at as "claimedUntil",
         greatest(to_timestamp(${madeAt}::float8 / 1000), scheduled_for) - interval '1 day' as "claimedFrom"
  from (
    select run_id, case when state in ('scheduled', 'held', 'deferred') then 'pending' else state::text end as state, scheduled_for,
           null::timestamptz as ended_at
    from agenda
    where project_id = ${projectId} and run_id = ${runId} and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
    union all
    select run_id, state::text, scheduled_for, ended_at from run
    where project_id = ${projectId} and run_id = ${runId} and ended_at >= to_timestamp(${madeAt}::float8 / 1000) - interval '1 day'
  ) r`

/** Which rows of a log to read. */
export interface LogRead extends Pick<RunWithLog, 'runId' | 'claimedFrom' | 'claimedUntil'> {
  readonly attempt: number | null
  /** Only rows written at or after this instant. */
  readonly since: number | null
  /** Only rows that contain this text, ignoring case. */
  readonly text: string | null
  /** Starts with the row that contains this position. */
  readonly after: LogPosition
  readonly limit: number
}

/** A row that was examined. If it is not wanted, only its position is set. */
export interface FoundRow extends ReadRow {
  readonly isWanted: boolean
}

/** Returns rows of the log of a run, in order. */
export const readLog = ({
  runId,
  claimedFrom,
  claimedUntil,
  attempt,
  since,
  text,
  after,
  limit,
}: LogRead) => sql<FoundRow>`
  select l.fence, l.seq, l.attempt, l.at, l.stream, l.level, case when w.is_wanted then l.text else '' end as text,
         l.omitted_lines as "omittedLines", l.omitted_bytes as "omittedBytes", w.is_wanted as "isWanted"
  from (
    select * from run_log
    where run_id = ${runId} and (fence, seq) >= (${after.fence}::integer, ${after.seq}::integer)
      and claimed_at >= to_timestamp(${claimedFrom}::float8 / 1000)
      and claimed_at <= coalesce(to_timestamp(${claimedUntil}::float8 / 1000), now()) + interval '1 day'
      and (${attempt}::smallint is null or attempt = ${attempt}::smallint)
    order by fence, seq limit ${limit}
  ) l
  cross join lateral (
    select (${since}::float8 is null or l.at >= to_timestamp(${since}::float8 / 1000))
       and (${text}::text is null or position(lower(${text}::text) in lower(l.text)) > 0) as is_wanted
  ) w
  order by l.fence, l.seq`

/** A client that follows the log of a run, and the position up to which it has read. */
export interface FollowedLog {
  readonly runId: string
  readonly claimedFrom: number
  readonly fence: number
  readonly seq: number
}

/** A followed run, and a row after the position if there is one. */
export interface FollowedRow extends ReadRow {
  readonly runId: string
  /** Whether the run has not ended. If it has, its log is complete. */
  readonly isLive: boolean
  /** Null if there is no row. */
  readonly seq: number
}

/** Returns new rows of followed logs: one index range per run, and its row in the agenda. */
export const followLogs = (followed: readonly FollowedLog[], limit: number) => sql<FollowedRow>`
  select i.run_id as "runId", a.run_id is not null as "isLive", l.fence, l.seq, l.attempt, l.at, l.stream, l.level, l.text,
         l.omitted_lines as "omittedLines", l.omitted_bytes as "omittedBytes"
  from unnest(
    ${list(followed, (f) => f.runId)}::uuid[], ${list(followed, (f) => f.claimedFrom)}::float8[],
    ${list(followed, (f) => f.fence)}::integer[], ${list(followed, (f) => f.seq)}::integer[]) as i(run_id, from_ms, fence, seq)
  left join agenda a on a.run_id = i.run_id
  left join lateral (
    select * from run_log l
    where l.run_id = i.run_id and (l.fence, l.seq) > (i.fence, i.seq)
      and l.claimed_at >= to_timestamp(i.from_ms / 1000) and l.claimed_at <= now() + interval '1 day'
    order by l.fence, l.seq limit ${limit}
  ) l on true`
