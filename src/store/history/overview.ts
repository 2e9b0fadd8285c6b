/**
 * The figures of the overview. Every query reads a bounded part of an index, whatever the size of the tables: a million more
 * rows cost nothing, and an incomplete count is marked as such.
 */
import { SHARD_COUNT } from '../../core/ids.ts'
import { MAX_SHARED, soonestOwn } from '../agenda/own-rows.ts'
import { list, part, reading, sql } from '../database/sql.ts'
import { type StoredDefinition, wholeDefinition } from '../tasks/stored-definition.ts'

/** Counts of live runs, counted from the beginning of each shard. */
export interface LiveCounts {
  readonly pending: number
  readonly running: number
  readonly retrying: number
  /** Runs that have been due for longer than `lateAfterMs` and have not started. */
  readonly late: number
  readonly oldestLateAt: number | null
  /** Whether the project has more due rows in a shard than were examined. */
  readonly isDueCut: boolean
  /** Whether the project has more future rows in a shard than were examined; some of the others may be retrying. */
  readonly isAheadCut: boolean
}

/** Due rows are at one end of the index, future rows at the other: a bounded part of each is read per shard. */
export const liveCounts = ({
  projectId,
  lateAfterMs,
  maxPerShard,
}: {
  projectId: string
  lateAfterMs: number
  maxPerShard: number
}) => sql<LiveCounts>`
  with due as materialized (
    select a.shard, a.project_id, a.state, a.kind, a.wake_at, a.place from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral ${soonestOwn({ projectId, when: part`wake_at <= now() + interval '1 second'`, limit: maxPerShard })} a
  ), ahead as materialized (
    select a.shard, a.project_id, a.state, a.place from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral ${soonestOwn({ projectId, when: part`wake_at > now() + interval '1 second'`, limit: maxPerShard })} a
  )
  select count(*) filter (where state in ('pending', 'held', 'deferred') or (state = 'scheduled' and kind not in ('occurrence', 'resume', 'skip')))::integer as pending,
         count(*) filter (where state = 'running')::integer as running,
         (count(*) filter (where state = 'retrying')
          + (select count(*) from ahead where project_id = ${projectId} and state = 'retrying'))::integer as retrying,
         count(*) filter (where state <> 'running' and kind <> 'backfill' and wake_at < now() - ${lateAfterMs}::integer * interval '1 millisecond')::integer as late,
         min(wake_at) filter (where state <> 'running' and kind <> 'backfill' and wake_at < now() - ${lateAfterMs}::integer * interval '1 millisecond') as "oldestLateAt",
         exists (select from due group by shard having count(*) >= ${maxPerShard}::integer or max(place) >= ${MAX_SHARED}::bigint) as "isDueCut",
         exists (select from ahead group by shard having count(*) >= ${maxPerShard}::integer or max(place) >= ${MAX_SHARED}::bigint) as "isAheadCut"
  from due where project_id = ${projectId}`

/** Number of rows that come due within one minute. */
export interface DueMinute {
  readonly minute: number
  readonly count: number
}

/** The period of upcoming occurrences to count. */
export interface AheadQuery {
  readonly projectId: string
  readonly until: number
  readonly shards: readonly number[]
  readonly maxPerShard: number
}

/** Counts, by minute, the rows of some shards that come due before an instant; `isCut` is true if one of the shards has more. */
export const countAhead = ({ projectId, until, shards, maxPerShard }: AheadQuery) => sql<
  DueMinute & { isCut: boolean }
>`
  with ahead as materialized (
    select a.shard, a.project_id, a.wake_at, a.place from unnest(${`{${shards.join(',')}}`}::smallint[]) as s(id)
    cross join lateral ${soonestOwn({
      projectId,
      when: part`wake_at > now() and wake_at < to_timestamp(${until}::float8 / 1000) and state in ('scheduled', 'retrying', 'deferred')`,
      limit: maxPerShard,
    })} a
  )
  select date_trunc('minute', wake_at) as minute, count(*)::integer as count,
         exists (select from ahead group by shard having count(*) >= ${maxPerShard}::integer or max(place) >= ${MAX_SHARED}::bigint) as "isCut"
  from ahead where project_id = ${projectId}
  group by 1 order by 1`

/** A future occurrence, and what is needed to compute those that follow it. */
export interface AheadRow {
  readonly at: number
  readonly ordinal: number
  readonly definition: ReturnType<typeof wholeDefinition>
}

/**
 * Returns at most `limit` scheduled occurrences that come due before an instant, with what is needed to compute those that
 * follow.
 */
export const occurrencesAhead = ({
  projectId,
  until,
  limit,
}: {
  projectId: string
  until: number
  limit: number
}) =>
  reading(
    sql<Omit<AheadRow, 'definition'> & { definition: StoredDefinition }>`
      select a.wake_at as at, count_of(a.ordinal_base, a.ordinal) as ordinal, definition_in_brief(t.definition, t.brief, t.version) as definition
      from (
        select first.* from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
        cross join lateral ${soonestOwn({
          projectId,
          when: part`wake_at > now() and wake_at < to_timestamp(${until}::float8 / 1000) and state = 'scheduled' and kind = 'occurrence'`,
          limit,
        })} first
        where first.project_id = ${projectId}
        limit ${limit}
      ) a
      cross join lateral (select definition, brief, version from task where id = a.task_id and project_id = a.project_id limit 1) t
      where a.project_id = ${projectId}`,
    (rows): AheadRow[] => rows.map((row) => ({ ...row, definition: wholeDefinition(row.definition) })),
  )

/** A task with a run that failed permanently in the last day, and how its latest runs ended, last one first. */
export interface FailedTask {
  readonly taskId: string
  readonly taskName: string | null
  readonly failedAt: number
  /** Null if all of them were skipped or cancelled. */
  readonly states: readonly ('completed' | 'permanently_failed')[] | null
  /** Whether there are more failures than were examined. */
  readonly isCut: boolean
}

/**
 * Returns tasks with a run that failed permanently within the last day, latest failure first. Failures have their own index;
 * the latest runs of each task are read along the index by task, one range each.
 */
export const failedTasks = ({
  projectId,
  maxFailures,
  maxTasks,
  runsEach,
}: {
  projectId: string
  maxFailures: number
  maxTasks: number
  runsEach: number
}) => sql<FailedTask>`
  with failures as materialized (
    select task_id, ended_at from run
    where project_id = ${projectId} and state = 'permanently_failed' and state <> 'completed' and ended_at > now() - interval '1 day'
    order by ended_at desc, run_id desc limit ${maxFailures}
  ), failed as materialized (
    select task_id, max(ended_at) as failed_at from failures group by task_id order by 2 desc limit ${maxTasks}
  ), cut as materialized (
    select (select count(*) from failures) >= ${maxFailures}::integer or (select count(*) from failed) >= ${maxTasks}::integer as is_cut
  )
  select f.task_id as "taskId", coalesce(t.name, t.key) as "taskName", f.failed_at as "failedAt", latest.states, cut.is_cut as "isCut"
  from cut, failed f
  cross join lateral (
    select id, name, key from task where id = f.task_id and deleted_at is null and cancelled_at is null limit 1
  ) t
  cross join lateral (
    select array_agg(state::text order by scheduled_for desc, run_id desc) as states
    from (
      select state, scheduled_for, run_id from run
      where task_id = f.task_id and ended_at > now() - interval '1 day'
      order by scheduled_for desc, run_id desc limit ${runsEach}
    ) r
    where state in ('completed', 'permanently_failed')
  ) latest
  order by f.failed_at desc`

/** Number of consecutive failures of a task. */
export interface FailureStreak {
  readonly taskId: string
  readonly failures: number
  /** When the first of them was due; null if the latest run did not fail. */
  readonly since: number | null
  /** Whether every run examined failed, so that there may be more failures before them. */
  readonly isCut: boolean
}

/** Counts the failures of each task since its latest success among its latest runs, read along the index by task. */
export const failureStreaks = ({
  taskIds,
  maxRuns,
}: {
  taskIds: readonly string[]
  maxRuns: number
}) => sql<FailureStreak>`
  select f.task_id as "taskId", streak.failures, streak.since, streak.is_cut as "isCut"
  from unnest(${list(taskIds, (id) => id)}::uuid[]) as f(task_id)
  cross join lateral (
    select count(*) filter (where state = 'permanently_failed')::integer as failures,
           min(scheduled_for) filter (where state = 'permanently_failed') as since, count(*) >= ${maxRuns}::integer as is_cut
    from (
      select state, scheduled_for, count(*) filter (where state = 'completed') over (order by scheduled_for desc, run_id desc) as successes
      from (
        select state, scheduled_for, run_id from run where task_id = f.task_id
        order by scheduled_for desc, run_id desc limit ${maxRuns}
      ) latest
    ) r
    where successes = 0
  ) streak`

/** Number of tasks, counted up to a limit, how many of them are paused, and since when. */
export interface TaskCounts {
  readonly total: number
  readonly paused: number
  readonly pausedSince: number | null
}

export const taskCounts = ({ projectId, limit }: { projectId: string; limit: number }) => sql<TaskCounts>`
  select (select count(*)::integer from (select from task where project_id = ${projectId} and deleted_at is null limit ${limit}) t) as total,
         count(*)::integer as paused, min(paused_at) as "pausedSince"
  from (
    select paused_at from task where project_id = ${projectId} and paused_at is not null and cancelled_at is null
    order by paused_at limit ${limit}
  ) p`
