/** The versions of a task: the current one is in `task`, earlier ones are in `task_version`. */
import type { TaskDefinition } from '../../core/task/task.ts'
import { MAX_PAGE_BYTES, type PageRow } from '../database/page-bytes.ts'
import { reading, sql } from '../database/sql.ts'
import { withDefinitions } from './stored-definition.ts'

/** One version of a task, with who created it and why. */
export interface VersionRow extends PageRow {
  readonly version: number
  readonly isCurrent: boolean
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: string[]
  readonly definition: TaskDefinition
  readonly madeAt: number
  readonly madeBy: string | null
  readonly reason: string | null
  readonly rollbackOf: number | null
}

/** Which versions of a task to read. */
export interface VersionPage {
  readonly taskId: string
  /** Only versions before this one; null to begin with the latest. */
  readonly before: number | null
  readonly limit: number
}

/** Returns versions of a task, latest first, as many as a page may hold but at least two. Both tables are read along their keys. */
export const versionsOf = ({ taskId, before, limit }: VersionPage) =>
  reading(
    sql<VersionRow>`
      select v.*, coalesce(e.made_at, t.created_at) as "madeAt", e.made_by as "madeBy", e.reason, e.rollback_of as "rollbackOf"
      from (
        select found.*, lead(true, 1, false) over latest as "hasNext",
               coalesce(sum(definition_bytes(definition, brief, version)) over (latest rows between unbounded preceding and 1 preceding), 0) as bytes_before,
               row_number() over latest as place
        from (
        (select version, true as "isCurrent", key, name, owner, tags, definition, brief from task
         where id = ${taskId} and (${before}::integer is null or version < ${before}::integer))
        union all
        (select version, false, key, name, owner, tags, definition, brief from task_version
         where task_id = ${taskId} and (${before}::integer is null or version < ${before}::integer)
         order by version desc limit ${limit})
        order by version desc limit ${limit}
        ) found
        window latest as (order by version desc)
      ) v
      join task t on t.id = ${taskId}
      left join task_edit e on e.task_id = ${taskId} and e.version = v.version
      where v.bytes_before <= ${MAX_PAGE_BYTES}::integer or v.place <= 2
      order by v.version desc`,
    withDefinitions,
  )

/**
 * Maximum number of instants, as written, that are read of one task. The same instant can be written in several ways, some of which
 * PostgreSQL cannot read, so the caller compares them; a one-off is not expected to be moved this often.
 */
const MAX_EARLIER_INSTANTS = 10_000

/** An instant that a one-off had in earlier versions. */
export interface EarlierOnce {
  /** As written; null stands for all other schedules. */
  readonly at: string | null
  /** The last version with it, and when that was replaced. */
  readonly last: number
  readonly until: number
  /** The first version with it that was still in force at the instant asked about. */
  readonly passedIn: number | null
}

/** Returns the instants that a one-off had in earlier versions, latest first. */
export const earlierOnces = ({
  taskId,
  before,
  at,
}: {
  taskId: string
  before: number
  at: number
}) => sql<EarlierOnce>`
  select case when definition #>> '{schedule,type}' = 'once' then definition #>> '{schedule,at}' end as at,
         max(version) as last, max(replaced_at) as until,
         min(version) filter (where replaced_at > to_timestamp(${at}::float8 / 1000)) as "passedIn"
  from task_version where task_id = ${taskId} and version < ${before}
  group by 1 order by last desc limit ${MAX_EARLIER_INSTANTS}`

/** Who created a version, and why. */
export interface EditNote {
  readonly by: string | null
  readonly reason: string | null
  readonly rollbackOf: number | null
}

/** Stores who created the current version of a task, and why. */
export const insertEdit = (taskId: string, { by, reason, rollbackOf }: EditNote) => sql`
  insert into task_edit (task_id, version, made_at, made_by, reason, rollback_of)
  select id, version, updated_at, ${by}, ${reason}, ${rollbackOf}::integer from task where id = ${taskId}`
