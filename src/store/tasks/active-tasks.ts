/**
 * Tasks with a running or waiting run, found through the live rows. The agenda has no index by state, which would make every
 * run more expensive: an active row has come due, or waits for an instant other than its own, and both are index ranges.
 */
import { SHARD_COUNT } from '../../core/ids.ts'
import { alongOwnIndex, isPostponed } from '../agenda/own-rows.ts'
import { sql } from '../database/sql.ts'

/** Maximum number of rows of each shard to examine, both of the due rows and of the postponed ones. */
export const MAX_ACTIVE_PER_SHARD = 1_000
/** Maximum number of tasks that one search returns. */
export const MAX_ACTIVE_TASKS = 1_000

/** Which tasks to find. */
export interface ActiveTasksQuery {
  readonly projectId: string
  readonly state: 'running' | 'pending'
  /** Only tasks with a lower id. */
  readonly before?: string | undefined
}

/** Tasks that may be in the requested state. */
export interface ActiveTasks {
  /** Newest first. */
  readonly ids: readonly string[]
  /** Whether a shard has more rows than were examined, so that tasks may be missing. */
  readonly isCut: boolean
}

export const activeTasks = ({ projectId, state, before }: ActiveTasksQuery) => sql<ActiveTasks>`
  with due as materialized (
    select a.* from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral (
      select shard, project_id, task_id, state, kind from agenda
      where ${alongOwnIndex(projectId)} and shard = s.id and wake_at <= now() + interval '1 second'
      order by wake_at limit ${MAX_ACTIVE_PER_SHARD}
    ) a
  ), postponed as materialized (
    select a.* from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral (
      select shard, project_id, task_id, state, kind from agenda
      where project_id = ${projectId}::uuid and shard = s.id and wake_at > now() + interval '1 second' and ${isPostponed}
      order by wake_at limit ${MAX_ACTIVE_PER_SHARD}
    ) a
    where ${state === 'pending'}::boolean
  ), active as (
    select distinct task_id from (select * from due union all select * from postponed) live
    where project_id = ${projectId} and (${before ?? null}::uuid is null or task_id < ${before ?? null}::uuid)
      and case when ${state === 'running'}::boolean then state = 'running'
               else state in ('pending', 'retrying', 'held', 'deferred') or (state = 'scheduled' and kind not in ('occurrence', 'resume', 'skip')) end
    order by task_id desc limit ${MAX_ACTIVE_TASKS}
  )
  select coalesce((select array_agg(task_id order by task_id desc) from active), '{}') as ids,
         exists (select from due group by shard having count(*) >= ${MAX_ACTIVE_PER_SHARD}::integer)
         or exists (select from postponed group by shard having count(*) >= ${MAX_ACTIVE_PER_SHARD}::integer) as "isCut"`
