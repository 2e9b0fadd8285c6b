import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { type Part, part } from '../database/sql.ts'

/** Which rows of a project to read. */
export interface OwnRows {
  readonly projectId: string
  /** A condition on `wake_at`, and possibly on other columns. */
  readonly when: Part
  /** Maximum number of rows per shard. */
  readonly limit: number
}

/** Maximum number of rows of a shard that are searched for rows of the project `default`, which has no index of its own. */
export const MAX_SHARED = 5_000
/** The same for the latest rows, which are searched a few times a second. */
const MAX_SHARED_LATEST = 1_000

/**
 * A condition on rows of `agenda` or `run` that selects those of a project along its index. The project `default` has none: for
 * it, the condition selects the rows of all projects, and the caller filters those that it examines.
 */
export const alongOwnIndex = (projectId: string): Part =>
  projectId === DEFAULT_PROJECT_ID
    ? part`true`
    : part`project_id = ${projectId}::uuid and project_id <> '00000000-0000-7000-8000-000000000001'::uuid`

/**
 * Rows of `agenda` that wait for a later instant than the one they were due at: retries, deferred runs and catch-up runs. Each
 * project has its part of the index `agenda_postponed`. A retry is missing if the database's clock was set back, for as long as
 * that put it before the instant at which its run was due.
 */
export const isPostponed = part`wake_at > scheduled_for and (jitter_ms is null or wake_at - scheduled_for > make_interval(secs => jitter_ms / 1000.0 + 0.001))`

/**
 * The live rows of a project in the shard `s.id` that are due soonest. Rows of other projects are neither returned nor counted
 * towards the limit, so the result reveals nothing about them. Rows of `default` are searched among the rows of all projects,
 * up to a large bound; a row whose `place` equals the bound shows that it was reached, and may belong to another project.
 */
export const soonestOwn = (rows: OwnRows): Part => inOrder(part`wake_at`, MAX_SHARED, rows)

/** The same for the rows that were or are due latest. */
export const latestOwn = (rows: OwnRows): Part => inOrder(part`wake_at desc`, MAX_SHARED_LATEST, rows)

const inOrder = (order: Part, maxShared: number, { projectId, when, limit }: OwnRows): Part =>
  projectId === DEFAULT_PROJECT_ID
    ? part`(
      select * from (
        select first.*, row_number() over (order by ${order}) as place
        from (select * from agenda where shard = s.id and ${when} order by ${order} limit ${maxShared}) first
      ) numbered
      where project_id = ${projectId}::uuid or place = ${maxShared}::bigint
      order by ${order} limit ${limit}
    )`
    : part`(
      select *, 0::bigint as place from agenda
      where ${alongOwnIndex(projectId)} and shard = s.id and ${when}
      order by ${order} limit ${limit}
    )`
