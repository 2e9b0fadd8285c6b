/**
 * Finds runs over all tasks, latest first, by reading one time range after another backwards until a page is full. Each project
 * has its part of the b-tree index on project and instant, so a range examines only its own rows. The project `default` is not in
 * that index, which would make every run of most installations more expensive for the sake of lists: rows are appended in the
 * order in which runs end, so the BRIN index on `ended_at` leads to any short time range of all projects. Runs that did not
 * complete have a b-tree index and need no ranges.
 *
 * Nothing that is returned to a project depends on the rows of others, except to `default`, where a range counts them towards the
 * rows that it may examine.
 *
 * The position of a run in the list is the instant of the last thing that happened to it: its end; while it is retrying, the
 * end of its last attempt; while it is pending or running, when it was due. This instant only moves forward, so a reader that
 * goes backwards sees no run twice, and misses only runs that have moved to the front meanwhile.
 */
import { INSTALLATION_ID } from '../../core/audit-log/audit-entry.ts'
import { SHARD_COUNT } from '../../core/ids.ts'
import { type EndedRunState, isLiveState, type RunState } from '../../core/run/run.ts'
import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { alongOwnIndex, isPostponed } from '../agenda/own-rows.ts'
import { MAX_PAGE_BYTES, outcomeBytes } from '../database/page-bytes.ts'
import { list, part, sql } from '../database/sql.ts'
import { endedRun, liveRun, type RunRow } from './runs.ts'

/** The position of a run in the list: an instant in epoch microseconds, with full stored precision, and its id. */
export interface RunPosition {
  readonly us: number
  readonly id: string
}

/** Sorts before every id: a position with this id precedes every run at the same instant. */
export const NO_ID = '00000000-0000-0000-0000-000000000000'

/** The time range to search for runs. */
export interface RunWindow {
  readonly projectId: string
  readonly state: RunState | null
  /** Inclusive; null for no lower bound. */
  readonly fromUs: number | null
  /** The project has nothing in history before, whatever others have. */
  readonly historyFromUs: number
  /** Only runs before this position. */
  readonly before: RunPosition
  readonly limit: number
  /** Maximum number of rows to examine in each table; null for no limit. */
  readonly maxExamined: number | null
}

/** A run that was found; `id` is null if none was. */
export interface FoundRun {
  /** Whether the range contains more rows than may be examined; then no run is returned, because it might not be the latest. */
  readonly isCut: boolean
  readonly us: number | null
  readonly id: string | null
}

/**
 * Maximum number of postponed rows that are searched for retrying runs. Among more of them, retrying runs are found by the failed
 * attempts of the range, which do not name their project.
 */
const MAX_POSTPONED = 10_000
/** A retry is stored with the end of the attempt before it. Their clocks differ by less than this. */
const CLOCKS_DIFFER_US = 60_000_000

/** Whether the run of an attempt `t` is waiting for its retry; in `default` all attempts are examined. */
const isOwnAttempt = (projectId: string) =>
  projectId === DEFAULT_PROJECT_ID
    ? part`true`
    : part`(select true from agenda where run_id = t.run_id and project_id = ${projectId}::uuid and state = 'retrying' and attempt = t.number limit 1)`

/**
 * Returns the latest runs in a time range. Each table is read along an index of instants, and the limit on rows examined
 * applies before any other filter, so a range that turns out to be crowded costs little. A retrying run is due after the end of
 * its last attempt, so those of a range are among the postponed rows that are due after it begins.
 */
export const runsInWindow = ({
  projectId,
  state,
  fromUs,
  historyFromUs,
  before,
  limit,
  maxExamined,
}: RunWindow) => sql<FoundRun>`
  with live as materialized (
    select a.run_id, a.wake_at as at, a.project_id, a.state, a.kind
    from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral (
      select run_id, wake_at, project_id, state, kind from agenda
      where ${alongOwnIndex(projectId)} and shard = s.id
        and wake_at >= coalesce(to_timestamp(${fromUs}::float8 / 1000000), '-infinity')
        and wake_at <= to_timestamp(${before.us}::float8 / 1000000)
    ) a
    where ${state === null || state === 'pending' || state === 'running'}::boolean
    limit ${maxExamined}
  ), postponed as materialized (
    select a.run_id, a.state, a.attempt
    from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral (
      select run_id, state, attempt from agenda
      where project_id = ${projectId} and shard = s.id and ${isPostponed}
        and wake_at >= coalesce(to_timestamp((${fromUs}::float8 - ${CLOCKS_DIFFER_US}::float8) / 1000000), '-infinity')
    ) a
    where ${state === null || state === 'retrying'}::boolean
    limit ${MAX_POSTPONED}
  ), searched as materialized (
    select count(*) >= ${MAX_POSTPONED}::integer as by_attempt from postponed
  ), tried as materialized (
    select a.run_id, a.attempt as number, t.ended_at as at
    from postponed a
    cross join lateral (select ended_at from attempt where run_id = a.run_id and number = a.attempt limit 1) t
    where a.state = 'retrying' and not (select by_attempt from searched)
      and t.ended_at >= to_timestamp(${Math.max(fromUs ?? 0, historyFromUs)}::float8 / 1000000)
      and t.ended_at <= to_timestamp(${before.us}::float8 / 1000000)
    union all
    (select run_id, number, ended_at from attempt t
     where ${state === null || state === 'retrying'}::boolean and (select by_attempt from searched)
       and ended_at >= to_timestamp(${Math.max(fromUs ?? 0, historyFromUs)}::float8 / 1000000)
       and ended_at <= to_timestamp(${before.us}::float8 / 1000000) and ${isOwnAttempt(projectId)}
     limit ${maxExamined})
  ), ended as materialized (
    select run_id, ended_at as at, project_id, state from run
    where ${state === null || !isLiveState(state)}::boolean and ${alongOwnIndex(projectId)}
      and ended_at >= to_timestamp(${Math.max(fromUs ?? 0, historyFromUs)}::float8 / 1000000)
      and ended_at <= to_timestamp(${before.us}::float8 / 1000000)
    limit ${maxExamined}
  )
  select examined.is_cut as "isCut", found.id, (extract(epoch from found.at) * 1000000)::bigint as us
  from (
    select coalesce(greatest((select count(*) from live), (select count(*) from tried), (select count(*) from ended)) >= ${maxExamined}::integer,
                    false) as is_cut
  ) examined
  left join lateral (
    select run_id as id, at from (
      select run_id, at from live
      where project_id = ${projectId} and state <> 'retrying' and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
        and (${state}::text is null or case when state in ('scheduled', 'held', 'deferred') then 'pending' else state::text end = ${state})
      union all
      select t.run_id, t.at from tried t
      cross join lateral (
        select from agenda where run_id = t.run_id and project_id = ${projectId} and state = 'retrying' and attempt = t.number limit 1
      ) a
      union all
      select run_id, at from ended
      where project_id = ${projectId} and (${state}::text is null or state::text = ${state})
    ) r
    where not examined.is_cut and (at, run_id) < (to_timestamp(${before.us}::float8 / 1000000), ${before.id}::uuid)
    order by at desc, run_id desc limit ${limit}
  ) found on true`

/**
 * Returns retrying runs whose last attempt ended before the retained history of their project, which may have been weeks ago. The
 * index of postponed rows leads to them. Nothing is read unless the project keeps less than others.
 */
export const retryingBeforeHistory = ({
  projectId,
  fromUs,
  historyFromUs,
  before,
  limit,
}: Omit<RunWindow, 'state' | 'maxExamined'>) => sql<RunPosition>`
  select t.run_id as id, (extract(epoch from t.ended_at) * 1000000)::bigint as us
  from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
  cross join lateral (
    select run_id, attempt from agenda
    where project_id = ${projectId} and shard = s.id and ${isPostponed} and state = 'retrying'
  ) a
  join attempt t on t.run_id = a.run_id and t.number = a.attempt
  where exists (select from retention where project_id = ${projectId})
    and t.ended_at >= coalesce(to_timestamp(${fromUs}::float8 / 1000000), '-infinity')
    and t.ended_at < to_timestamp(${historyFromUs}::float8 / 1000000)
    and (t.ended_at, t.run_id) < (to_timestamp(${before.us}::float8 / 1000000), ${before.id}::uuid)
  order by t.ended_at desc, t.run_id desc limit ${limit}`

/** Which runs that ended in a state other than completed to find. */
export interface RunsEndedAs {
  readonly projectId: string
  readonly state: Exclude<EndedRunState, 'completed'>
  readonly fromUs: number | null
  readonly before: RunPosition
  readonly limit: number
}

/** Returns the latest runs that ended in a state other than completed, along the index that contains only such runs. */
export const runsEndedAs = ({ projectId, state, fromUs, before, limit }: RunsEndedAs) => sql<{
  id: string
  us: number
}>`
  select run_id as id, (extract(epoch from ended_at) * 1000000)::bigint as us from run
  where project_id = ${projectId} and state = ${state}::run_state and state <> 'completed'
    and ended_at >= coalesce(to_timestamp(${fromUs}::float8 / 1000000), '-infinity')
    and ended_at <= to_timestamp(${before.us}::float8 / 1000000)
    and (ended_at, run_id) < (to_timestamp(${before.us}::float8 / 1000000), ${before.id}::uuid)
  order by ended_at desc, run_id desc limit ${limit}`

/** From when on the history of a project is complete. */
export const historyBeginOf = (projectId: string) => sql<{ at: number | null }>`
  select history_begin(${projectId}) as at`

/** When the oldest day begins that history of any project is kept of. */
export const historyBegin = () => sql<{ at: number | null }>`select history_begin(${INSTALLATION_ID}) as at`

/**
 * Returns runs by their ids, live or ended, in the order of the ids and as many as a page may hold; history is searched from
 * the given instant on. If it is null, the condition is left open instead of starting at minus infinity, because the planner
 * would treat that as a range, for which PostgreSQL 15 would scan a small partition completely.
 */
export const runsById = ({
  ids,
  endedFromUs,
}: {
  ids: readonly string[]
  endedFromUs: number | null
}) => sql<RunRow>`
  select r.*, (select coalesce(name, key) from task where id = r."taskId") as "taskName",
         (select retry_of from run_retry where run_id = r.id) as "retryOf"
  from (
    select found.*, lead(true, 1, false) over asked as "hasNext", row_number() over asked as place,
           coalesce(sum(${outcomeBytes}) over (asked rows between unbounded preceding and 1 preceding), 0) as bytes_before
    from (
    select ${liveRun} from agenda
    where run_id = any(${list(ids, (id) => id)}::uuid[]) and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
    union all
    select ${endedRun} from run
    where run_id = any(${list(ids, (id) => id)}::uuid[]) and (${endedFromUs}::float8 is null or ended_at >= to_timestamp(${endedFromUs}::float8 / 1000000))
    ) found
    window asked as (order by array_position(${list(ids, (id) => id)}::uuid[], id))
  ) r
  where bytes_before <= ${MAX_PAGE_BYTES}::integer
  order by place`
