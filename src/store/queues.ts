/** Queues and lanes: registering them, pausing, and how much waits where. */
import type { Lane } from '../core/lane.ts'
import type { Queryable } from './database.ts'
import { list, sql } from './sql.ts'

/** Makes lanes and their queues known, as far as they are not. */
export const registerLanes = (lanes: readonly Lane[]) => sql`
  with input as materialized (
    select id, project_id, queue, array(select jsonb_array_elements_text(labels)) as labels, strict
    from unnest(${list(lanes, (l) => l.id)}::bigint[], ${list(lanes, (l) => l.projectId)}::uuid[], ${list(lanes, (l) => l.queue)}::text[],
                ${list(lanes, (l) => JSON.stringify(l.labels))}::jsonb[], ${list(lanes, (l) => l.isStrict)}::boolean[])
      as i(id, project_id, queue, labels, strict)
  ), queues as (
    insert into queue (project_id, name) select distinct project_id, queue from input on conflict do nothing
  )
  insert into lane (id, project_id, queue, labels, strict) select distinct on (id) id, project_id, queue, labels, strict from input
  on conflict do nothing`

/** Lanes that this process knows to be registered: they are never removed, so each is looked at once. */
export class LaneRegistry {
  readonly #known = new Set<number>()

  /** Registers what is not known yet, before any row refers to it. */
  async ensure(db: Queryable, lanes: readonly Lane[]): Promise<void> {
    const missing = lanes.filter(({ id }) => !this.#known.has(id))
    if (missing.length === 0) return
    await db.run(registerLanes(missing))
    for (const { id } of missing) this.#known.add(id)
  }
}

/** A lane that a worker may claim from. */
export interface ServedLane {
  readonly id: number
  readonly isStrict: boolean
}

/** The lanes whose queue is not paused and which ask for nothing that the worker is not able to do. */
export const servedLanes = (labels: readonly string[]) => sql<ServedLane>`
  select l.id, l.strict as "isStrict"
  from lane l join queue q on q.project_id = l.project_id and q.name = l.queue
  where q.paused_at is null and l.labels <@ ${list(labels, (label) => label)}::text[]`

/** A queue as users see it. */
export interface QueueRow {
  readonly name: string
  readonly pausedAt: number | null
  /** Runs that wait for a worker, counted up to a bound. */
  readonly waiting: number
  readonly oldest: number | null
  readonly createdAt: number
}

/** Queues are counted up to this; beyond it a user sees that there are at least so many. */
export const MAX_WAITING_COUNTED = 10_000

export const listQueues = ({
  projectId,
  name = null,
}: {
  projectId: string
  name?: string | null
}) => sql<QueueRow>`
  select q.name, q.paused_at as "pausedAt", q.created_at as "createdAt", waiting.count as waiting, waiting.oldest
  from queue q
  cross join lateral (
    select count(*)::integer as count, min(wake_at) as oldest
    from (select r.wake_at from lane l join ready r on r.lane = l.id
          where l.project_id = q.project_id and l.queue = q.name limit ${MAX_WAITING_COUNTED}) w
  ) waiting
  where q.project_id = ${projectId} and (${name}::text is null or q.name = ${name})
  order by q.name`

/** Pauses a queue or lets it go on; a queue that nobody has used yet is made. */
export const setQueuePaused = ({
  projectId,
  name,
  isPaused,
}: {
  projectId: string
  name: string
  isPaused: boolean
}) => sql`
  insert into queue (project_id, name, paused_at) values (${projectId}, ${name}, case when ${isPaused}::boolean then now() end)
  on conflict (project_id, name) do update
    set paused_at = case when ${isPaused}::boolean then coalesce(queue.paused_at, now()) end`
