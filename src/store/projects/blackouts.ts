/** Blackouts as rows. They are made and removed, never changed. */

import { SHARD_COUNT } from '../../core/ids.ts'
import type { BlackoutEffect, BlackoutRule } from '../../core/policy/blackout-rule.ts'
import { list, sql } from '../database/sql.ts'

/** A window in which nothing of a project starts by time. */
export interface BlackoutRow {
  readonly id: string
  readonly projectId: string
  readonly name: string
  readonly effect: BlackoutEffect
  readonly rule: BlackoutRule
  readonly createdAt: number
}

/** Each is looked at for each occurrence while there are any, so a project has no more than this. */
export const MAX_BLACKOUTS = 100

/** Stores a blackout; no row when the project has as many as it may have. */
export const insertBlackout = ({ id, projectId, name, effect, rule }: Omit<BlackoutRow, 'createdAt'>) => sql<{
  createdAt: number
}>`
  insert into blackout (id, project_id, name, effect, rule)
  select ${id}::uuid, ${projectId}::uuid, ${name}, ${effect}, ${JSON.stringify(rule)}::json
  where (select count(*) from blackout where project_id = ${projectId}::uuid and removed_at is null) < ${MAX_BLACKOUTS}::integer
  returning created_at as "createdAt"`

/** The blackouts that hold: of a project, or of all; one of them, or all. */
export const readBlackouts = ({
  projectId,
  id,
}: {
  projectId?: string
  id?: string
} = {}) => sql<BlackoutRow>`
  select id, project_id as "projectId", name, effect, rule, created_at as "createdAt" from blackout
  where removed_at is null and (${projectId ?? null}::uuid is null or project_id = ${projectId ?? null}::uuid)
    and (${id ?? null}::uuid is null or id = ${id ?? null}::uuid)
  order by id`

/** The blackouts of a project that there were at an instant, those of late first; more are not looked at. */
export const blackoutsAt = ({ projectId, at }: { projectId: string; at: number }) => sql<BlackoutRow>`
  select id, project_id as "projectId", name, effect, rule, created_at as "createdAt" from blackout
  where project_id = ${projectId} and created_at <= to_timestamp(${at}::float8 / 1000)
    and (removed_at is null or removed_at > to_timestamp(${at}::float8 / 1000))
  order by id desc limit ${MAX_BLACKOUTS}`

export const removeBlackout = ({ projectId, id }: { projectId: string; id: string }) => sql<BlackoutRow>`
  update blackout set removed_at = now() where project_id = ${projectId} and id = ${id} and removed_at is null
  returning id, project_id as "projectId", name, effect, rule, created_at as "createdAt"`

/** Wakes what was put off to an instant: the window that ended there is gone. Found in each shard by that instant. */
export const wakeDeferred = ({ projectId, at }: { projectId: string; at: number }) => sql<{
  shard: number
  at: number
}>`
  update agenda set wake_at = date_trunc('milliseconds', clock_timestamp()), fence = fence + 1
  where run_id = any(array(
    select d.run_id from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral (
      select run_id from agenda
      where shard = s.id and wake_at = to_timestamp(${at}::float8 / 1000) and state = 'deferred' and project_id = ${projectId}
    ) d)) and state = 'deferred'
  returning shard, wake_at as at`

/** Which project each task belongs to. */
export const projectsOf = (taskIds: readonly string[]) => sql<{ taskId: string; projectId: string }>`
  select id as "taskId", project_id as "projectId" from task where id = any(${list(taskIds, (id) => id)}::uuid[])`
