/** Catching up after an outage: writing catch-up rows, and reading them separately so that runs on time never wait for it. */
import { type CatchUpOccurrence, misfired } from '../../core/policy/misfire.ts'
import { list, type Part, part, reading, sql } from '../database/sql.ts'
import { storedCount } from '../history/stored-count.ts'
import type { FireRequest, FireResult } from './fire.ts'
import { insertedNext, ownedShards } from './fire-parts.ts'
import type { DueRow } from './look-ahead.ts'

/** A missed occurrence that will still run, with its run. */
export interface CatchUpRun extends CatchUpOccurrence {
  readonly runId: string
}

/** What the scheduler decided about the missed occurrences of a task that catches up on them. */
export interface CatchUpDecision {
  /** The missed occurrences that will run, in order. */
  readonly runs: readonly CatchUpRun[]
  /** Whether the others, which the decision's `skip` covers, are recorded as failed instead of skipped. */
  readonly hasFailed: boolean
  /** The lane for catch-up runs of the row's lane. */
  readonly lane: number
}

/** Added to the priority of a catch-up run, so that it is claimed after every run on time. */
export const CATCH_UP_PRIORITY = 10_000
/**
 * Separates the priorities of catch-up runs, below it, from those of backfills, which wait in the same lanes and must not delay
 * catch-up runs.
 */
const BEHIND_CATCH_UP = 15_000

/** A catch-up run, the row that it follows from, and how many runs of that row precede it. */
interface FollowingRun extends CatchUpRun {
  readonly rowId: string
  readonly n: number
}

const catchUpRunsOf = (rowId: string, runs: readonly CatchUpRun[]): FollowingRun[] =>
  runs.map((run, n) => ({ ...run, rowId, n }))

/**
 * `own`: the lanes of the rows of `of` that have a lane for catch-up runs, which is created if it does not exist. Runs with a
 * key or a handler stay in their lane, where slots are counted and remote workers claim; there, their priority puts them last.
 * The rows have the columns `lane` and `catchup_lane`.
 */
export const catchUpLanes = (of: Part): Part => part`own as materialized (
    select distinct g.lane, g.catchup_lane, l.project_id, l.queue, l.labels, l.strict
    from ${of} g join lane l on l.id = g.lane and l.handler is null
  ), made as (
    insert into lane (id, project_id, queue, labels, strict, catchup)
    select catchup_lane, project_id, queue, labels, strict, true from own
    on conflict do nothing
  )`

/** Inserts the catch-up runs of the rows of `of`, in the lanes of `catchUpLanes`. */
const catchUpRows = ({
  of,
  runs,
}: {
  readonly of: Part
  readonly runs: readonly FollowingRun[]
}): Part => part`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, jitter_ms, version, ordinal, ordinal_base, kind, lane, priority)
    select i.run_id, g.task_id, g.project_id, g.shard, to_timestamp(i.wake_ms / 1000), to_timestamp(i.at_ms / 1000), i.jitter_ms, g.version,
           part_of_count(counted.n), base_of_count(counted.n), 'catchup', coalesce(o.catchup_lane, g.lane),
           least(g.priority, ${CATCH_UP_PRIORITY}::integer) + ${CATCH_UP_PRIORITY}::integer
    from unnest(
      ${list(runs, (r) => r.rowId)}::uuid[], ${list(runs, (r) => r.n)}::integer[], ${list(runs, (r) => r.runId)}::uuid[],
      ${list(runs, (r) => r.at)}::float8[], ${list(runs, (r) => r.wakeAt)}::float8[],
      ${list(runs, (r) => r.jitterMs ?? null)}::integer[]) as i(row_id, n, run_id, at_ms, wake_ms, jitter_ms)
    join ${of} g on g.run_id = i.row_id
    cross join lateral (select count_of(g.ordinal_base, g.ordinal) + i.n as n) counted
    left join own o on o.lane = g.lane and o.catchup_lane = g.catchup_lane
    on conflict on constraint agenda_occurrence_is_unique do nothing`

/**
 * Replaces a missed row, in one statement, by a row for each occurrence that will still run, one history row that covers the
 * others, and the row of the next occurrence.
 */
export const replaceMissed = ({ nodeId, shards, firings }: FireRequest) => sql<FireResult>`
  with ${ownedShards({ nodeId, shards })}, asked as materialized (
    select * from unnest(
      ${list(firings, (f) => f.row.runId)}::uuid[], ${list(firings, (f) => f.row.shard)}::smallint[], ${list(firings, (f) => f.row.fence)}::integer[],
      ${list(firings, (f) => f.decision.catchUp?.runs.length ?? 0)}::integer[], ${list(firings, (f) => f.decision.catchUp?.hasFailed ?? false)}::boolean[],
      ${list(firings, (f) => f.decision.catchUp?.lane ?? null)}::bigint[], ${list(firings, (f) => f.decision.skip?.runId ?? null)}::uuid[],
      ${list(firings, (f) => f.decision.skip?.until ?? null)}::float8[], ${list(firings, (f) => storedCount(f.decision.skip?.count ?? null))}::integer[],
      ${list(firings, (f) => f.decision.next?.runId ?? null)}::uuid[], ${list(firings, (f) => f.decision.next?.at ?? null)}::float8[],
      ${list(firings, (f) => f.decision.isLast)}::boolean[], ${list(firings, (f) => f.decision.next?.jitterMs ?? null)}::integer[])
      as i(run_id, shard, fence, catchup_count, has_failed, catchup_lane, skip_id, until_ms, count, next_run_id, next_ms, is_last, next_jitter_ms)
  ), gone as (
    delete from agenda a using asked i
    where a.run_id = i.run_id and a.fence = i.fence and a.state = 'scheduled' and i.shard in (select id from owned)
    returning a.*, i.catchup_count, i.has_failed, i.catchup_lane, i.skip_id, i.until_ms, i.count, i.next_run_id, i.next_ms, i.is_last, i.next_jitter_ms
  ), ${catchUpLanes(part`(select * from gone where catchup_count > 0)`)}, catch_up as (
    ${catchUpRows({
      of: part`gone`,
      runs: firings.flatMap(({ row, decision }) => catchUpRunsOf(row.runId, decision.catchUp?.runs ?? [])),
    })}
  ), ${insertedNext({
    from: part`gone i cross join lateral (
      select i.task_id, i.project_id, i.shard, i.version, count_of(i.ordinal_base, i.ordinal) + i.catchup_count as count, i.lane, i.priority, i.delay_ms
    ) p`,
    unless: part`i.is_last`,
  })}, history as (
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, covers_until, covers_count, version, ordinal, ordinal_base, kind, state,
                     reason, error)
    select skip_id, task_id, project_id, scheduled_for, clock_timestamp(), to_timestamp(until_ms / 1000), count, version, ordinal, ordinal_base, kind,
           case when has_failed then 'permanently_failed'::run_state else 'skipped' end, 'misfire',
           case when has_failed then ${JSON.stringify(misfired('missed'))}::jsonb end
    from gone where skip_id is not null
  )
  select true as "isWorkerAlive", '{}'::uuid[] as blocked, array(select run_id from asked where run_id not in (select run_id from gone)) as gone,
         array(select unnest(${list(shards, (s) => s.id)}::smallint[]) except select id from owned) as lost`

/** Catch-up runs of one task, as rows to insert. */
export interface CatchUpRuns {
  readonly taskId: string
  readonly projectId: string
  readonly shard: number
  readonly version: number
  /** The ordinal of the first of them. */
  readonly ordinal: number
  readonly lane: number
  /** The lane for catch-up runs of `lane`. */
  readonly catchUpLane: number
  readonly priority: number
  readonly runs: readonly CatchUpRun[]
}

/** Inserts catch-up rows because of a change of their task, in the same lanes as `replaceMissed`. */
export const insertCatchUpRuns = (it: CatchUpRuns) => sql`
  with given as materialized (
    select ${it.taskId}::uuid as run_id, ${it.taskId}::uuid as task_id, ${it.projectId}::uuid as project_id, ${it.shard}::smallint as shard,
           ${it.version}::integer as version, part_of_count(${it.ordinal}::bigint) as ordinal, base_of_count(${it.ordinal}::bigint) as ordinal_base,
           ${it.lane}::bigint as lane, ${it.catchUpLane}::bigint as catchup_lane, ${it.priority}::integer as priority
  ), ${catchUpLanes(part`given`)}
  ${catchUpRows({ of: part`given`, runs: catchUpRunsOf(it.taskId, it.runs) })}`

/** When the previous catch-up run of a task started. */
export interface CatchUpStart {
  readonly taskId: string
  /** Whether that run is still waiting for a worker. */
  readonly isWaiting: boolean
  readonly startedAt: number | null
}

/** Number of earlier history rows to examine: the previous catch-up run, if there is one, is among the nearest. */
const NEAREST_BEFORE = 3

/** For the first catch-up row of each task, returns when the previous catch-up run started, on any node. */
export const catchUpStarts = (
  firsts: readonly Pick<DueRow, 'taskId' | 'scheduledFor'>[],
) => sql<CatchUpStart>`
  select i.task_id as "taskId", coalesce(live.state = 'pending', false) as "isWaiting", greatest(live.claimed_at, past.started_at) as "startedAt"
  from unnest(${list(firsts, (f) => f.taskId)}::uuid[], ${list(firsts, (f) => f.scheduledFor)}::float8[]) as i(task_id, at_ms)
  left join lateral (
    select state, claimed_at from agenda
    where task_id = i.task_id and scheduled_for < to_timestamp(i.at_ms / 1000) and kind = 'catchup' and state in ('pending', 'running')
    order by scheduled_for desc limit 1
  ) live on true
  left join lateral (
    select max(started_at) as started_at from (
      select kind, started_at from run
      where task_id = i.task_id and scheduled_for < to_timestamp(i.at_ms / 1000) and ended_at >= date_trunc('day', now() - interval '1 hour')
      order by scheduled_for desc limit ${NEAREST_BEFORE}
    ) nearest where kind = 'catchup'
  ) past on true`

/** Postpones catch-up rows that were read too soon for the catch-up rate of their task, so that rows of other tasks can be read. */
export const postponeCatchUp = (
  rows: readonly { readonly runId: string; readonly fence: number; readonly at: number }[],
) => sql`
  update agenda a set wake_at = to_timestamp(i.at_ms / 1000)
  from unnest(${list(rows, (r) => r.runId)}::uuid[], ${list(rows, (r) => r.fence)}::integer[], ${list(rows, (r) => r.at)}::float8[]) as i(run_id, fence, at_ms)
  where a.run_id = i.run_id and a.fence = i.fence and a.kind = 'catchup' and a.state in ('scheduled', 'held', 'deferred')`

/** Which catch-up rows to read. */
export interface CatchUpQuery {
  readonly shards: readonly number[]
  /** Rows due by now come before rows due later. */
  readonly now: number
  readonly until: number
  readonly limit: number
  /**
   * If this many catch-up runs already wait for workers, nothing is read: they are served last, and further rows would only be
   * in the way.
   */
  readonly maxWaiting: number
  /** Runs to skip because they cannot be fired. */
  readonly except?: readonly string[]
}

type SelectedCatchUp = DueRow & { readonly waiting: number }

/** Reads catch-up rows that have come due, the earliest of each shard first, through their own index. */
export const readCatchUp = (query: CatchUpQuery) =>
  reading(selectCatchUp(query), (rows): DueRow[] => rows.map(({ waiting: _, ...row }) => row))

const selectCatchUp = ({
  shards,
  now,
  until,
  limit,
  maxWaiting,
  except = [],
}: CatchUpQuery) => sql<SelectedCatchUp>`
  with waiting as materialized (
    select count(*) as count from (
      select from lane l
      cross join lateral (select from ready where lane = l.id and priority < ${BEHIND_CATCH_UP}::smallint limit ${maxWaiting}) r
      where l.catchup and l.line is null limit ${maxWaiting}) first
  )
  select run_id as "runId", task_id as "taskId", shard, kind, state, wake_at as "wakeAt", scheduled_for as "scheduledFor", version,
         count_of(ordinal_base, ordinal) as ordinal, fence, attempt, losses, lane, priority, waiting.count as waiting
  from waiting
  cross join unnest(${list(shards, (id) => id)}::smallint[]) as s(id)
  cross join lateral (
    select * from agenda
    where shard = s.id and wake_at <= to_timestamp(${until}::float8 / 1000) and kind = 'catchup' and state in ('scheduled', 'held', 'deferred')
      and run_id <> all(${list(except, (id) => id)}::uuid[])
    order by wake_at limit ${limit}
  ) due
  where waiting.count < ${maxWaiting}
  order by wake_at > to_timestamp(${now}::float8 / 1000), priority, wake_at limit ${limit}`
