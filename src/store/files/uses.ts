/**
 * Records which tasks refer to which files. A use is current until an edit removes it; runs of earlier versions may still need
 * the file. A task that has ended no longer needs it.
 */
import { list, part, sql } from '../database/sql.ts'
import { livingUsers, type UserSearch } from '../tasks/living-users.ts'

/** A task, and the files that it refers to. */
export interface FileUse {
  readonly taskId: string
  readonly fileIds: readonly string[]
}

/** `uses_file`: the file uses of the tasks to be inserted. The statement fails if a file does not exist. */
export const fileUses = (projectId: string, uses: readonly FileUse[]) => part`uses_file as (
      insert into file_use (file_id, task_id, project_id)
      select file_id, task_id, ${projectId}::uuid
      from unnest(${list(pairsOf(uses), ([fileId]) => fileId)}::uuid[], ${list(pairsOf(uses), ([, taskId]) => taskId)}::uuid[]) as u(file_id, task_id)
      where exists (select from input)
    )`

const pairsOf = (uses: readonly FileUse[]): (readonly [string, string])[] =>
  uses.flatMap(({ taskId, fileIds }) => fileIds.map((fileId) => [fileId, taskId] as const))

/**
 * Sets the files that a task refers to from a version on. Files that it no longer refers to are still needed by runs of earlier
 * versions.
 */
export const replaceFileUses = (
  projectId: string,
  { taskId, fileIds, version }: FileUse & { readonly version: number },
) => sql`
  with ended as (
    update file_use set until_version = ${version}::integer
    where task_id = ${taskId} and until_version is null and not (file_id = any(${list(fileIds, (id) => id)}::uuid[]))
  )
  insert into file_use (file_id, task_id, project_id)
  select file_id, ${taskId}, ${projectId} from unnest(${list(fileIds, (id) => id)}::uuid[]) as u(file_id)
  on conflict (file_id, task_id) do update set until_version = null`

/**
 * Whether a use counts: the task may still run, because it is neither deleted, cancelled nor finished, or a run of a version
 * that refers to the file is live. A task whose file was never uploaded waits for it. `f`, `u` and `t` are the file, the use
 * and its task.
 */
const counts = part`(
    exists (select from agenda a where a.task_id = u.task_id and (u.until_version is null or a.version < u.until_version))
    or (u.until_version is null and t.deleted_at is null and t.cancelled_at is null
        and (f.ready_at is null or t.paused_at is not null or definition_in_brief(t.definition, t.brief, t.version) -> 'schedule' ->> 'type' = 'manual')))`

/** Returns tasks that use a file and may still run. Any task may be one that waits for the upload of the file. */
export const tasksUsingFile = ({
  projectId,
  fileId,
  ...search
}: UserSearch & { readonly projectId: string; readonly fileId: string }) =>
  livingUsers({
    ...search,
    projectId,
    // In the order of the primary key: along the index by task, uses of all other files might be examined.
    latestUse: part`
      select task_id from (
        select file_id, task_id from file_use
        where (file_id, task_id) <= (${fileId}::uuid, w.alive) and (file_id, task_id) < (${fileId}::uuid, w.task_id)
        order by file_id desc, task_id desc limit 1
      ) latest where file_id = ${fileId}::uuid`,
    isAnyAlive: part`(select ready_at is null from file where id = ${fileId}::uuid)`,
    user: part`
      select t.id, t.name, t.key from file_use u join file f on f.id = u.file_id join task t on t.id = u.task_id
      where u.file_id = ${fileId}::uuid and u.task_id = w.task_id and ${counts}`,
  })

/** Locks files that have not been used for a long time, either the ready ones or those waiting for their upload. */
export const lockUnusedFiles = ({
  state,
  hours,
  limit,
}: {
  state: 'waiting' | 'ready'
  hours: number
  limit: number
}) => sql<{ id: string; projectId: string; contentId: string | null }>`
  select id, project_id as "projectId", content_id as "contentId" from file
  where used_at < now() - make_interval(hours => ${hours}::integer)
    and ${state === 'ready' ? part`ready_at is not null` : part`ready_at is null`}
  order by used_at limit ${limit}
  for update skip locked`

/** Renews the given files that a task or a live run refers to, and returns them. The files must be locked. */
export const renewUsedFiles = (ids: readonly string[]) => sql<{ id: string }>`
  update file f set used_at = now()
  where f.id = any(${list(ids, (id) => id)}::uuid[])
    and exists (select from file_use u join task t on t.id = u.task_id where u.file_id = f.id and ${counts})
  returning f.id`

/** Deletes files that are not in use. */
export const deleteFiles = (ids: readonly string[]) => sql`
  with unused as (delete from file_use where file_id = any(${list(ids, (id) => id)}::uuid[]))
  delete from file where id = any(${list(ids, (id) => id)}::uuid[])`
