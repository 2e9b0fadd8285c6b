/**
 * How much a project with a limit has stored. The row is an upper bound: each task and each chunk of a file is added, one that
 * ends or is deleted is not deducted, because runs never write about their tasks. When the bound reaches the limit everything is counted again. Whoever
 * adds to it holds its lock until what it stores is committed, so the limit is exact.
 */
import { part, sql } from '../database/sql.ts'

/** What is to be stored, and how much there may be; null for no limit. */
export interface Storing {
  readonly projectId: string
  readonly tasks: number
  readonly bytes: number
  readonly maxTasks: number | null
  readonly maxStoredBytes: number | null
}

/** Stored so far. */
export interface Use {
  readonly tasks: number
  readonly bytes: number
}

/** Nodes learn of a limit within a second. What was counted before they all knew it may be too little. */
const LEARNT_WITHIN_SECONDS = 3

/** Adds what is to be stored; no row when the limit seems to be reached, or the row cannot be relied on. */
export const addUse = ({ projectId, tasks, bytes, maxTasks, maxStoredBytes }: Storing) => sql<Use>`
  update project_use set tasks = tasks + ${tasks}::bigint, bytes = bytes + ${bytes}::bigint
  where project_id = ${projectId} and counted_at > since + make_interval(secs => ${LEARNT_WITHIN_SECONDS})
    and (${maxTasks}::bigint is null or tasks + ${tasks}::bigint <= ${maxTasks}::bigint)
    and (${maxStoredBytes}::bigint is null or bytes + ${bytes}::bigint <= ${maxStoredBytes}::bigint)
  returning tasks, bytes`

/** Locks the row of the project, which is made when there is none. */
export const lockUse = (projectId: string) => sql<{ tasks: number }>`
  insert into project_use (project_id) values (${projectId})
  on conflict (project_id) do update set counted_at = project_use.counted_at
  returning tasks`

/** Forgets what was counted: with a limit lifted nobody adds any more, and a new one begins with counting. */
export const forgetUse = (projectId: string) => sql`delete from project_use where project_id = ${projectId}`

/**
 * Tasks of a project that are not finished, cancelled or deleted: those with a next occurrence or a run of one, those that are
 * paused, and those that wait to be triggered. A cancelled one whose run has not ended yet still counts.
 */
const livingTasks = (projectId: string) => part`
  select task_id as id from agenda where project_id = ${projectId} and kind not in ('manual', 'backfill')
  union
  select id from task where project_id = ${projectId} and paused_at is not null and cancelled_at is null
  union
  select id from task where project_id = ${projectId} and cancelled_at is null and ((definition -> 'schedule') ->> 'type') = 'manual'`

/** Counts what the project has stored. The bytes take a look at every task, so they are counted only when asked for. */
export const countUse = (projectId: string, withBytes: boolean) => sql<Use>`
  with living as materialized (${livingTasks(projectId)})
  select (select count(*) from living) as tasks,
         case when ${withBytes}::boolean then (
           select coalesce(sum(definition_bytes(t.definition, t.brief, t.version)), 0)
           from living l join task t on t.id = l.id)
         + (select coalesce(sum(received), 0) from file_content where project_id = ${projectId} and dropped_at is null)
         else 0 end::bigint as bytes`

/** Notes what was counted, and what is to be stored in addition. The row must be locked since before it was counted. */
export const noteUse = ({ projectId, tasks, bytes }: Use & { readonly projectId: string }) => sql`
  update project_use set tasks = ${tasks}::bigint, bytes = ${bytes}::bigint, counted_at = now() where project_id = ${projectId}`

/** Whether a task counts as living. */
export const isLiving = (taskId: string) => sql<{ isLiving: boolean }>`
  select t.paused_at is not null or ((t.definition -> 'schedule') ->> 'type') = 'manual'
         or exists (select from agenda where task_id = t.id and kind not in ('manual', 'backfill')) as "isLiving"
  from task t where t.id = ${taskId}`
