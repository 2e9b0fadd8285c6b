import { DEFAULT_PROJECT_ID } from '../../core/values/default-project.ts'
import { type Part, part } from '../database/sql.ts'

/** Which rows of a project to read. */
export interface OwnRows {
  readonly projectId: string
  /** A condition on `wake_at`, and on others. */
  readonly when: Part
  /** Of each shard. */
  readonly limit: number
}

/** Rows of a shard that are looked through for those of the project `default`, which has no index of its own. */
export const MAX_SHARED = 5_000

/**
 * The soonest live rows of a project in the shard `s.id`. Those of other projects are not among them, and do not count towards the
 * limit, so that they cannot be told from the answer. Rows of `default` are looked for among those of all projects, up to a bound
 * that is far off; a row with that `place` shows that it was reached, and may be somebody else's.
 */
export const soonestOwn = ({ projectId, when, limit }: OwnRows): Part =>
  projectId === DEFAULT_PROJECT_ID
    ? part`(
      select * from (
        select first.*, row_number() over (order by wake_at) as place
        from (select * from agenda where shard = s.id and ${when} order by wake_at limit ${MAX_SHARED}) first
      ) numbered
      where project_id = ${projectId}::uuid or place = ${MAX_SHARED}::bigint
      order by wake_at limit ${limit}
    )`
    : part`(
      select *, 0::bigint as place from agenda
      where project_id = ${projectId}::uuid and project_id <> '00000000-0000-7000-8000-000000000001'::uuid and shard = s.id and ${when}
      order by wake_at limit ${limit}
    )`
