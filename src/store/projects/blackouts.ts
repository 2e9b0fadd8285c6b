/** Stores blackouts. They are created and removed, never changed. */

import { SHARD_COUNT } from '../../core/ids.ts'
import type { BlackoutEffect, BlackoutRule } from '../../core/policy/blackout-rule.ts'
import { list, sql } from '../database/sql.ts'

/** A window in which no run of a project starts by schedule. */
export interface BlackoutRow {
  readonly id: string
  readonly projectId: string
  readonly name: string
  readonly effect: BlackoutEffect
  readonly rule: BlackoutRule
  readonly createdAt: number
}

/** Every blackout of a project is evaluated for each of its occurrences, so their number is limited. */
export const MAX_BLACKOUTS = 100

/** Inserts a blackout; no row if the project has reached the maximum number. */
export const insertBlackout = ({ id, projectId, name, effect, rule }: Omit<BlackoutRow, 'createdAt'>) => sql<{
  createdAt: number
}>`
  insert into blackout (id, project_id, name, effect, rule)
  select ${id}::uuid, ${projectId}::uuid, ${name}, ${effect}, ${JSON.stringify(rule)}::json
  where (select count(*) from blackout where project_id = ${projectId}::uuid and removed_at is null) < ${MAX_BLACKOUTS}::integer
  returning created_at as "createdAt"`

/** Returns the blackouts in force: of one project or of all, one of them or all. */
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

/** Returns the blackouts of a project that existed at an instant, latest first, up to the maximum number. */
export const blackoutsAt = ({ projectId, at }: { projectId: string; at: number }) => sql<BlackoutRow>`
  select id, project_id as "projectId", name, effect, rule, created_at as "createdAt" from blackout
  where project_id = ${projectId} and created_at <= to_timestamp(${at}::float8 / 1000)
    and (removed_at is null or removed_at > to_timestamp(${at}::float8 / 1000))
  order by id desc limit ${MAX_BLACKOUTS}`

export const removeBlackout = ({ projectId, id }: { projectId: string; id: string }) => sql<BlackoutRow>`
  update blackout set removed_at = now() where project_id = ${projectId} and id = ${id} and removed_at is null
  returning id, project_id as "projectId", name, effect, rule, created_at as "createdAt"`

/**
 * Wakes rows deferred to an instant, because the window that ended then was removed. They are found in each shard by that
 * instant.
 */
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

/** Returns the project of each task. */
export const projectsOf = (taskIds: readonly string[]) => sql<{ taskId: string; projectId: string }>`
  select id as "taskId", project_id as "projectId" from task where id = any(${list(taskIds, (id) => id)}::uuid[])`
