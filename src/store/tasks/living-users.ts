/**
 * Finds those among the users of something that can still run. Most users of a secret or a file have often ended: one-off tasks
 * keep their uses. So the uses are not examined one by one. The search goes back and forth between the index of the uses and
 * the indexes of what can still run, and skips in each what the other does not contain.
 */
import { type Part, part, reading, sql } from '../database/sql.ts'

/** A task that uses something. */
export interface TaskUser {
  readonly id: string
  readonly name: string | null
  readonly key: string | null
}

/** What a search found, newest tasks first. */
export interface FoundUsers {
  readonly users: readonly TaskUser[]
  /** The last use that was examined, if there are more: there may be more users before it. */
  readonly cutAt: string | null
}

/**
 * Maximum number of uses that a search examines. It is reached only if many tasks that have ended were created in turn with
 * as many that can still run, in whatever project.
 */
export const MAX_EXAMINED_USES = 5_000

/** How many users to search for, and where to begin. */
export interface UserSearch {
  readonly limit: number
  /** Only uses by older tasks than this one. */
  readonly before?: string | undefined
}

/** What to search. */
export interface LivingUsers extends UserSearch {
  readonly projectId: string
  /** The latest use up to `w.alive` and before `w.task_id`, as `task_id`, or no row. */
  readonly latestUse: Part
  /** Whether also tasks that are neither live, paused nor manual may be users. */
  readonly isAnyAlive: Part
  /** The user that the use `w.task_id` stands for, or no row. */
  readonly user: Part
}

/**
 * Returns the users that can still run. Nothing orders the rows, so the walk ends as soon as `limit` users are found; it
 * produces the newest first.
 */
export const livingUsers = ({ projectId, latestUse, isAnyAlive, user, limit, before }: LivingUsers) =>
  reading(
    sql<(TaskUser | { id: null }) & { cutAt: string | null }>`
      with recursive walk(task_id, alive, step) as (
        select ${before ?? NEWEST}::uuid, ${NEWEST}::uuid, 0
        union all
        select u.task_id, case when ${isAnyAlive} then u.task_id else ${latestAlive(projectId)} end, w.step + 1
        from walk w
        cross join lateral (${latestUse}) u
        where w.step < ${MAX_EXAMINED_USES}::integer
      )
      select t.id, t.name, t.key, case when w.step = ${MAX_EXAMINED_USES}::integer then w.task_id end as "cutAt"
      from walk w
      left join lateral (${user}) t on w.alive = w.task_id
      where t.id is not null or w.step = ${MAX_EXAMINED_USES}::integer
      limit ${limit}::integer`,
    (rows): FoundUsers[] => [
      {
        users: rows.flatMap(({ cutAt: _, ...task }) => (task.id === null ? [] : [task])),
        cutAt: rows.find(({ cutAt }) => cutAt !== null)?.cutAt ?? null,
      },
    ],
  )

/** After the id of every task. */
const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * The latest task up to the one of the use `u` that may still run: it has a live row, is paused, or is manual. Only the indexes
 * of paused and of manual tasks have the order that is asked for. With the project as a condition, the planner may prefer to
 * examine all tasks along the primary key.
 */
const latestAlive = (projectId: string): Part => part`greatest(
          (select task_id from agenda where task_id <= u.task_id order by task_id desc limit 1),
          (select id from (
             select project_id, id from task
             where (project_id, id) <= (${projectId}::uuid, u.task_id) and paused_at is not null and cancelled_at is null
             order by project_id desc, id desc limit 1
           ) paused where project_id = ${projectId}::uuid),
          (select id from (
             select project_id, id from task
             where (project_id, id) <= (${projectId}::uuid, u.task_id) and cancelled_at is null
               and ((definition -> 'schedule') ->> 'type') = 'manual'
             order by project_id desc, id desc limit 1
           ) manual where project_id = ${projectId}::uuid))`
