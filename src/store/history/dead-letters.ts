/**
 * Dead letters: runs that failed permanently and were neither redriven nor dismissed. They are found along the index of runs
 * that did not complete, latest first; settled ones are recorded in a separate table, because history rows are never updated.
 */

import type { Grouping } from '../../core/run/grouping.ts'
import { list, part, sql } from '../database/sql.ts'
import type { RunPosition } from './run-search.ts'

/** Selects dead letters. */
export interface DeadLetterFilter {
  readonly taskId?: string | undefined
  readonly fingerprint?: string | undefined
  /** Runs that ended at or after `from` and before `to`, in epoch milliseconds. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly runIds?: readonly string[] | undefined
}

/** The range of dead letters to search. */
export interface DeadLettersQuery {
  readonly projectId: string
  readonly filter: DeadLetterFilter
  readonly before: RunPosition
  readonly limit: number
  /** Maximum number of rows to examine. */
  readonly maxExamined: number
}

/** A dead letter. */
export interface DeadLetter {
  readonly id: string
  readonly us: number
  readonly taskId: string
  readonly fingerprint: string
  /** Whether its task can run again. */
  readonly isLiving: boolean
}

/** The conditions of a row of history that the filter selects, by what the index shows: that it failed permanently, and when. */
const isFailed = ({ projectId, filter }: Pick<DeadLettersQuery, 'projectId' | 'filter'>) =>
  part`project_id = ${projectId} and state = 'permanently_failed' and state <> 'completed'
      and ended_at >= coalesce(to_timestamp(${filter.from ?? null}::float8 / 1000), '-infinity')
      and ended_at < coalesce(to_timestamp(${filter.to ?? null}::float8 / 1000), 'infinity')
      and (${filter.taskId ?? null}::uuid is null or task_id = ${filter.taskId ?? null}::uuid)`

/** The same for one page, which begins after a position. */
const isOnPage = ({ projectId, filter, before }: DeadLettersQuery) =>
  part`${isFailed({ projectId, filter })}
      and ended_at <= to_timestamp(${before.us}::float8 / 1000000)
      and (ended_at, run_id) < (to_timestamp(${before.us}::float8 / 1000000), ${before.id}::uuid)
      and (${filter.runIds === undefined}::boolean or run_id = any(${list(filter.runIds ?? [], (id) => id)}::uuid[]))`

/** The conditions of a failed run `f` that is a dead letter, with the fingerprint of its error as `x`. */
const isOpen = ({ fingerprint }: DeadLetterFilter) =>
  part`not exists (select from dead_letter_settled where run_id = f.run_id)
      and (${fingerprint ?? null}::text is null or x.fingerprint = ${fingerprint ?? null})`

/** Returns open dead letters, latest first. */
export const openDeadLetters = (query: DeadLettersQuery) => sql<DeadLetter>`
  with failed as materialized (
    select run_id, ended_at, task_id, error from run
    where ${isOnPage(query)}
    order by ended_at desc, run_id desc limit ${query.maxExamined}
  )
  select f.run_id as id, (extract(epoch from f.ended_at) * 1000000)::bigint as us, f.task_id as "taskId", x.fingerprint,
         t.cancelled_at is null as "isLiving"
  from failed f
  cross join lateral (select error_fingerprint(f.error) as fingerprint) x
  join task t on t.id = f.task_id
  where ${isOpen(query.filter)}
  order by f.ended_at desc, f.run_id desc limit ${query.limit}`

/** Returns the last row that a search for dead letters examines, where the next search continues. */
export const lastExamined = (query: DeadLettersQuery) => sql<RunPosition>`
  select run_id as id, (extract(epoch from ended_at) * 1000000)::bigint as us from run
  where ${isOnPage(query)}
  order by ended_at desc, run_id desc offset ${query.maxExamined}::integer - 1 limit 1`

/** A group of dead letters. */
export interface DeadLetterGroup {
  readonly key: string
  readonly code: string | null
  readonly status: number | null
  readonly pattern: string | null
  readonly taskId: string | null
  readonly taskName: string | null
  readonly count: number
  readonly tasks: number
  readonly firstAt: number
  readonly lastAt: number
  readonly sampleRunId: string
  readonly sampleMessage: string | null
  /** Number of rows examined for all groups together. */
  readonly examined: number
}

/** Groups the latest open dead letters, largest group first. */
export const groupDeadLetters = ({
  projectId,
  filter,
  by,
  limit,
  maxExamined,
}: {
  projectId: string
  filter: DeadLetterFilter
  by: Grouping
  limit: number
  maxExamined: number
}) => sql<DeadLetterGroup>`
  with failed as materialized (
    select run_id, ended_at, task_id, error from run
    where ${isFailed({ projectId, filter })}
    order by ended_at desc, run_id desc limit ${maxExamined}
  ), open as (
    select f.*, x.fingerprint,
           case ${by}::text when 'error' then x.fingerprint when 'task' then f.task_id::text
                            else to_char(f.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24":00:00.000Z"') end as key
    from failed f cross join lateral (select error_fingerprint(f.error) as fingerprint) x
    where ${isOpen(filter)}
  ), grouped as (
    select key, count(*)::integer as count, count(distinct task_id)::integer as tasks, min(ended_at) as first_at, max(ended_at) as last_at,
           (array_agg(run_id order by ended_at desc, run_id desc))[1] as sample
    from open group by key order by count(*) desc, key limit ${limit}
  )
  select g.key, case when ${by}::text = 'error' then o.error ->> 'code' end as code,
         case when ${by}::text = 'error' then (jsonb_path_query_first(o.error, '$.detail.status ? (@ >= 100 && @ <= 999)') #>> '{}')::numeric::integer end as status,
         case when ${by}::text = 'error' then common_message(o.error) end as pattern,
         case when ${by}::text = 'task' or g.tasks = 1 then o.task_id end as "taskId",
         case when ${by}::text = 'task' or g.tasks = 1 then coalesce(t.name, t.key) end as "taskName",
         g.count, g.tasks, g.first_at as "firstAt", g.last_at as "lastAt", g.sample as "sampleRunId",
         left(o.error ->> 'message', 1000) as "sampleMessage", (select count(*)::integer from failed) as examined
  from grouped g
  join open o on o.run_id = g.sample
  join task t on t.id = o.task_id
  order by g.count desc, g.key`

/** Settles dead letters; those settled before are not returned. */
export const settleDeadLetters = ({
  letters,
  how,
}: {
  letters: readonly RunPosition[]
  how: 'redriven' | 'dismissed'
}) => sql<{ runId: string }>`
  insert into dead_letter_settled (run_id, ended_at, how)
  select run_id, to_timestamp(us / 1000000), ${how}
  from unnest(${list(letters, ({ id }) => id)}::uuid[], ${list(letters, ({ us }) => us)}::float8[]) as i(run_id, us)
  on conflict do nothing
  returning run_id as "runId"`

/** Deletes the records of settled dead letters whose runs retention has already deleted. */
export const deleteOldSettledLetters = (olderThanDays: number) => sql`
  delete from dead_letter_settled where ended_at < now() - make_interval(days => ${olderThanDays}::integer)`
