/**
 * How much a project with a limit has stored. The row is an upper bound: every task and every chunk of a file is added, but
 * nothing is deducted when one ends or is deleted, because runs never write about their tasks. When the bound reaches the
 * limit, everything is counted again. A transaction that adds to the row holds its lock until it commits, so the limit is
 * exact.
 */
import { part, sql } from '../database/sql.ts'

/** What is to be stored, and the limits; null for no limit. */
export interface Storing {
  readonly projectId: string
  readonly tasks: number
  readonly bytes: number
  readonly maxTasks: number | null
  readonly maxStoredBytes: number | null
}

/** What is stored so far. */
export interface Use {
  readonly tasks: number
  readonly bytes: number
}

/** Nodes apply a new limit within a second. A count made before all of them do may be too low. */
const LEARNT_WITHIN_SECONDS = 3

/** Adds what is to be stored; no row if the limit seems to be reached, or the count is not reliable. */
export const addUse = ({ projectId, tasks, bytes, maxTasks, maxStoredBytes }: Storing) => sql<Use>`
  update project_use set tasks = tasks + ${tasks}::bigint, bytes = bytes + ${bytes}::bigint
  where project_id = ${projectId} and counted_at > since + make_interval(secs => ${LEARNT_WITHIN_SECONDS})
    and (${maxTasks}::bigint is null or tasks + ${tasks}::bigint <= ${maxTasks}::bigint)
    and (${maxStoredBytes}::bigint is null or bytes + ${bytes}::bigint <= ${maxStoredBytes}::bigint)
  returning tasks, bytes`

/** Locks the row of the project, and inserts it if there is none. */
export const lockUse = (projectId: string) => sql<{ tasks: number }>`
  insert into project_use (project_id) values (${projectId})
  on conflict (project_id) do update set counted_at = project_use.counted_at
  returning tasks`

/** Deletes the count of a project: without a limit, no node updates it, and a new limit begins with a count. */
export const deleteUse = (projectId: string) => sql`delete from project_use where project_id = ${projectId}`

/**
 * Tasks of a project that are not finished, cancelled or deleted: those with a scheduled occurrence or a live run of one,
 * paused tasks, and tasks that are triggered manually. A cancelled task whose run has not ended yet still counts.
 */
const livingTasks = (projectId: string) => part`
  select task_id as id from agenda where project_id = ${projectId} and kind not in ('manual', 'backfill')
  union
  select id from task where project_id = ${projectId} and paused_at is not null and cancelled_at is null
  union
  select id from task where project_id = ${projectId} and cancelled_at is null and ((definition -> 'schedule') ->> 'type') = 'manual'`

/** Counts what the project has stored. Counting bytes reads every task, so they are counted only on request. */
export const countUse = (projectId: string, withBytes: boolean) => sql<Use>`
  with living as materialized (${livingTasks(projectId)})
  select (select count(*) from living) as tasks,
         case when ${withBytes}::boolean then (
           select coalesce(sum(definition_bytes(t.definition, t.brief, t.version)), 0)
           from living l join task t on t.id = l.id)
         + (select coalesce(sum(received), 0) from file_content where project_id = ${projectId} and dropped_at is null)
         else 0 end::bigint as bytes`

/** Stores the count, including what is about to be stored. The row must have been locked before counting. */
export const noteUse = ({ projectId, tasks, bytes }: Use & { readonly projectId: string }) => sql`
  update project_use set tasks = ${tasks}::bigint, bytes = ${bytes}::bigint, counted_at = now() where project_id = ${projectId}`

/** Returns whether a task counts as living. */
export const isLiving = (taskId: string) => sql<{ isLiving: boolean }>`
  select t.paused_at is not null or ((t.definition -> 'schedule') ->> 'type') = 'manual'
         or exists (select from agenda where task_id = t.id and kind not in ('manual', 'backfill')) as "isLiving"
  from task t where t.id = ${taskId}`
