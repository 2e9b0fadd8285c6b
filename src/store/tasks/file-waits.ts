/** Tasks that wait for files: they are paused until every file that they refer to is complete. */
import { list, part, sql } from '../database/sql.ts'

/** A file that a task refers to. */
export interface NeededFile {
  readonly id: string
  readonly name: string
  readonly isReady: boolean
}

/** Returns files, locked until the commit: none of them can become ready or be deleted meanwhile. */
export const holdFiles = (projectId: string, ids: readonly string[]) => sql<NeededFile>`
  select id, name, ready_at is not null as "isReady" from file
  where project_id = ${projectId} and id = any(${list(ids, (id) => id)}::uuid[])
  order by id for share`

/** Returns which of the given files are incomplete or do not exist. */
export const missingFiles = (projectId: string, ids: readonly string[]) => sql<{
  id: string
  name: string | null
}>`
  select i.id, f.name from unnest(${list(ids, (id) => id)}::uuid[]) as i(id)
  left join file f on f.id = i.id and f.project_id = ${projectId}
  where f.ready_at is null
  order by i.id`

/** A task that no longer waits for files. */
export interface EndedWait {
  readonly id: string
  readonly projectId: string
}

/** Which tasks that wait to look at. */
export interface WaitsAsked {
  /** Only tasks that refer to this file. */
  readonly fileId?: string
  /** Only these tasks. */
  readonly only?: readonly string[]
  /** All tasks but these. */
  readonly except?: readonly string[]
  readonly limit: number
}

/**
 * Locks tasks that wait although all their files are complete. Tasks locked by a concurrent change are skipped. Tasks of archived
 * projects continue to wait.
 */
export const lockEndedWaits = ({ fileId, only, except = [], limit }: WaitsAsked) => sql<EndedWait>`
  select t.id, t.project_id as "projectId" from task t
  where t.awaits_files and t.paused_at is not null and t.cancelled_at is null
    and t.id <> all(${list(except, (id) => id)}::uuid[])
    ${only === undefined ? part`` : part`and t.id = any(${list(only, (id) => id)}::uuid[])`}
    ${fileId === undefined ? part`` : part`and t.id in (select task_id from file_use where file_id = ${fileId} and until_version is null)`}
    and not exists (select from file_use u join file f on f.id = u.file_id
                    where u.task_id = t.id and u.until_version is null and f.ready_at is null)
    and exists (select from project p where p.id = t.project_id and p.archived_at is null)
  order by t.id limit ${limit}
  for update of t skip locked`
