/** Projects: what is decided for all tasks of one. */
import { sql } from './sql.ts'

/** How often tasks may be due, and how far ahead; null: no limit of the project's own. */
export interface ProjectLimits {
  readonly minPeriodMs: number | null
  readonly maxAheadMs: number | null
}

/** A project and its limits. */
export interface ProjectRow extends ProjectLimits {
  readonly id: string
  readonly name: string
  readonly createdAt: number
}

export const readProject = (id: string) => sql<ProjectRow>`
  select id, name, min_period_ms::float8 as "minPeriodMs", max_ahead_ms::float8 as "maxAheadMs", created_at as "createdAt"
  from project where id = ${id}`

/** Sets the limits that are named; the others stay. Answers nothing when together they would leave no room. */
export const setLimits = (id: string, limits: Partial<ProjectLimits>) => sql<{ id: string }>`
  update project set
    min_period_ms = case when ${limits.minPeriodMs !== undefined}::boolean then ${limits.minPeriodMs ?? null}::bigint else min_period_ms end,
    max_ahead_ms = case when ${limits.maxAheadMs !== undefined}::boolean then ${limits.maxAheadMs ?? null}::bigint else max_ahead_ms end
  where id = ${id}
  returning id`
