/**
 * Removes unused queues with their lanes and gates. All statements of a pass run in one transaction, which locks the queues
 * first: a lane or a gate refers to its queue, so none can be added meanwhile, and a transaction that registers a lane waits
 * and then finds that the queue must be created again. The removing transaction itself never waits for another.
 */
import { DEFAULT_QUEUE } from '../../core/run/lane.ts'
import { list, part, sql } from '../database/sql.ts'
import { isLimited } from './rates.ts'

/** Identifies a queue. */
export interface QueueName {
  readonly projectId: string
  readonly name: string
}

/**
 * Locks queues that have not been used for `days`, according to the last complete walk. A node may record the use of a queue up
 * to two hours late: it caches a lane for an hour, and a record is renewed after an hour. Paused queues, and queues with a
 * limit or a rate, stay. No queue is removed while a node is alive that does not record use, or before a walk has started after
 * its death.
 */
export const lockUnusedQueues = ({ days, limit }: { days: number; limit: number }) => sql<QueueName>`
  with walk as materialized (
    select complete_since from audit_walk w where name = 'queues' and complete_since is not null and not exists (
      select from node where not renews_queues and roles <> '{remote}' and (dead_at is null or dead_at > w.complete_since))
  )
  select q.project_id as "projectId", q.name from queue q
  where q.used_at < now() - make_interval(days => ${days}::integer)
    and q.used_at < (select complete_since from walk) - interval '2 hours'
    and q.name <> ${DEFAULT_QUEUE} and q.paused_at is null
    and not exists (select from gate g where g.project_id = q.project_id and g.queue = q.name and g.key is null and ${isLimited})
  order by q.used_at limit ${limit}
  for update of q skip locked`

/** `input`: the given queues. */
const input = (queues: readonly QueueName[]) => part`input as materialized (
    select * from unnest(${list(queues, (q) => q.projectId)}::uuid[], ${list(queues, (q) => q.name)}::text[]) as i(project_id, name)
  )`

/**
 * Renews the given queues in which a run waits, or whose slots are in use or limited, and returns them. Waiting rows are
 * selected with an order that only the index provides: otherwise, a planner that knows of one full lane would scan the whole of
 * `ready` for the others.
 */
export const renewOccupied = (queues: readonly QueueName[]) => sql<QueueName>`
  with ${input(queues)}
  update queue q set used_at = now() from input i
  where q.project_id = i.project_id and q.name = i.name and (
    exists (select from gate g where g.project_id = i.project_id and g.queue = i.name and (g.held > 0 or (g.key is null and ${isLimited})))
    or exists (
      select from (
        select id from lane where project_id = i.project_id and queue = i.name
        union all
        select id from gate where project_id = i.project_id and queue = i.name and key is not null
      ) l
      cross join lateral (select from ready where lane = l.id order by lane, priority, wake_at, run_id limit 1) waiting))
  returning q.project_id as "projectId", q.name`

/** Removes lanes of the given queues. */
export const removeLanes = (queues: readonly QueueName[], limit: number) => sql`
  with ${input(queues)}
  delete from lane where id = any(array(
    select l.id from lane l join input i on i.project_id = l.project_id and i.name = l.queue limit ${limit}))`

/** Removes gates of the given queues without slots in use, except locked ones. */
export const removeGates = (queues: readonly QueueName[], limit: number) => sql`
  with ${input(queues)}
  delete from gate where id = any(array(
    select g.id from gate g join input i on i.project_id = g.project_id and i.name = g.queue
    where g.held = 0 and (g.key is not null or not ${isLimited})
    limit ${limit} for update of g skip locked))`

/** Removes the given queues to which nothing refers any more. */
export const removeQueues = (queues: readonly QueueName[]) => sql<QueueName>`
  with ${input(queues)}
  delete from queue q using input i
  where q.project_id = i.project_id and q.name = i.name
    and not exists (select from lane where project_id = i.project_id and queue = i.name)
    and not exists (select from gate where project_id = i.project_id and queue = i.name)
  returning q.project_id as "projectId", q.name`
