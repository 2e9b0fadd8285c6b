/**
 * Finds out what a run was waiting for at a past instant. Nothing is recorded for this purpose: the runs in progress at that
 * time are in history with their start and end, and nodes and unwatched periods are kept for a while.
 */
import { SHARD_COUNT } from '../../core/ids.ts'
import type { Workers } from '../../core/why/now-case.ts'
import { part, reading, sql } from '../database/sql.ts'
import { type StoredDefinition, wholeDefinition } from './stored-definition.ts'
import { candidates, type Needs } from './why.ts'

/** Maximum number of ends after the instant to examine, for runs and for attempts. */
export const MAX_ENDS_EXAMINED = 20_000
/** Maximum number of rows of each shard to examine for runs that are still in progress. */
const MAX_LIVE_PER_SHARD = 1_000

/** Which runs to find. */
export interface KeyAt {
  readonly projectId: string
  readonly key: string
  readonly at: number
  readonly limit: number
}

/** A run that was in progress, with what determines its queue and its concurrency key. */
interface InProgress {
  readonly runId: string
  readonly definition: StoredDefinition
}

/**
 * Returns runs with a concurrency key that were in progress at an instant. Such a run has ended since, or is live; ends are
 * ordered by time, so the search is limited by how many there have been since.
 */
export const inProgressWithKey = (query: KeyAt) =>
  reading(selectInProgress(query), (rows) =>
    rows.map(({ runId, definition }) => ({ runId, definition: wholeDefinition(definition) })),
  )

const selectInProgress = ({ projectId, key, at, limit }: KeyAt) => sql<InProgress>`
  with ended as materialized (
    select run_id, task_id, version from (
      select run_id, task_id, project_id, version, started_at from run
      where ended_at > to_timestamp(${at}::float8 / 1000)
      limit ${MAX_ENDS_EXAMINED}
    ) r
    where project_id = ${projectId} and started_at <= to_timestamp(${at}::float8 / 1000)
  ), tried as materialized (
    select run_id, task_id, null::integer as version from (
      select run_id, task_id, started_at from attempt
      where ended_at > to_timestamp(${at}::float8 / 1000)
      limit ${MAX_ENDS_EXAMINED}
    ) a
    where started_at <= to_timestamp(${at}::float8 / 1000)
  ), live as materialized (
    select a.run_id, a.task_id, a.version from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral (
      select run_id, task_id, project_id, version, state, gate_id, greatest(claimed_at, wake_at, scheduled_for) as started_at from agenda
      where shard = s.id and wake_at <= now()
      order by wake_at limit ${MAX_LIVE_PER_SHARD}
    ) a
    where project_id = ${projectId} and state = 'running' and gate_id is not null and started_at <= to_timestamp(${at}::float8 / 1000)
  )
  select distinct on (h.run_id) h.run_id as "runId",
         json_build_object('action', json_strip_nulls(json_build_object('type', d.definition #> '{action,type}', 'name', d.definition #> '{action,name}',
                                                                        'command', d.definition #> '{action,command}')),
                           'queue', coalesce(o.override -> 'queue', d.definition -> 'queue'), 'labels', d.definition -> 'labels', 'secrets', d.definition -> 'secrets',
                           'concurrencyKey', d.definition -> 'concurrencyKey') as definition
  from (select * from ended union all select * from tried union all select * from live) h
  cross join lateral (
    select coalesce(h.version, (select version from agenda where run_id = h.run_id), (select version from run where run_id = h.run_id limit 1)) as version
  ) v
  cross join lateral (
    select definition_in_brief(definition, brief, version) as definition from task
    where id = h.task_id and version = v.version and project_id = ${projectId}
    union all
    select definition_in_brief(definition, brief, version) from task_version v2 where v2.task_id = h.task_id and v2.version = v.version
      and exists (select from task t where t.id = h.task_id and t.project_id = ${projectId})
  ) d
  left join run_override o on o.run_id = h.run_id
  where d.definition ->> 'concurrencyKey' = ${key}
  order by h.run_id
  limit ${limit}`

/** Returns the queue into which a run was triggered if it overrides the queue of the task. */
export const overriddenQueue = (runId: string) => sql<{ queue: string | null }>`
  select override ->> 'queue' as queue from run_override where run_id = ${runId}`

/** Counts the workers that were alive at an instant, and those of them that offered what is needed. */
export const workersAt = ({ at, ...needs }: Needs & { readonly at: number }) => sql<
  Pick<Workers, 'alive' | 'capable'>
>`
  select count(*)::integer as alive, count(*) filter (where able)::integer as capable
  from ${candidates(
    needs,
    part`n.started_at <= to_timestamp(${at}::float8 / 1000) and (n.dead_at is null or n.dead_at > to_timestamp(${at}::float8 / 1000))`,
  )} w`
