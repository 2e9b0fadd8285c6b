/**
 * Slack addresses whose tokens are stored in plain text, in tasks and their versions. Two partial indexes contain exactly these
 * rows, so that they are found at once and nothing is read if there are none. The conditions below must match those of the
 * indexes.
 */
import type { TaskDefinition } from '../../core/task/task.ts'
import { part, reading, sql } from '../database/sql.ts'
import { withDefinitions } from './stored-definition.ts'

const isPlainTask = part`action_type = 'slack'
      and definition #>> '{action,url}' ~ '^[^/]*//[^/?#]*[/?](.*[/?&=])?[A-Za-z0-9._~-]{16,}([/?&#]|$)'`
const isPlainVersion = part`definition #>> '{action,type}' = 'slack'
      and definition #>> '{action,url}' ~ '^[^/]*//[^/?#]*[/?](.*[/?&=])?[A-Za-z0-9._~-]{16,}([/?&#]|$)'`

/** Returns tasks after an id that have such an address, or had one in an earlier version. */
export const tasksWithPlainAddress = ({ after, limit }: { after: string; limit: number }) => sql<{
  taskId: string
  projectId: string
}>`
  select t.id as "taskId", t.project_id as "projectId"
  from (
    (select id from task where ${isPlainTask} and id > ${after}::uuid order by id limit ${limit})
    union
    (select task_id from task_version where ${isPlainVersion} and task_id > ${after}::uuid order by task_id, version limit ${limit})
  ) found
  join task t on t.id = found.id
  order by t.id limit ${limit}`

/** Locks a task, which may be deleted, against changes until the commit. */
export const holdTask = (taskId: string) => sql`select from task where id = ${taskId} for update`

/** A version of a task with such an address. */
export interface PlainVersion {
  readonly version: number
  readonly isCurrent: boolean
  readonly definition: TaskDefinition
}

export const plainVersions = (taskId: string, limit: number) =>
  reading(
    sql<PlainVersion>`
      select version, true as "isCurrent", definition from task where id = ${taskId} and ${isPlainTask}
      union all
      (select version, false, definition from task_version where task_id = ${taskId} and ${isPlainVersion} order by version limit ${limit})`,
    withDefinitions,
  )

/** Moves the future occurrences of a task to another lane. */
export const moveToLane = (taskId: string, lane: number) => sql`
  update agenda set lane = ${lane} where task_id = ${taskId} and state = 'scheduled' and kind = 'occurrence' and lane <> ${lane}`
