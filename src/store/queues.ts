/** Queues and lanes: registering them, pausing, and how much waits where. */
import { LRUCache } from 'lru-cache'
import type { Lane } from '../core/lane.ts'
import type { Queryable } from './database.ts'
import { list, sql } from './sql.ts'

/** Makes lanes, their gates and their queues known; a gate gets the number of places that was said last. */
export const registerLanes = (lanes: readonly Lane[]) => sql`
  with input as materialized (
    select distinct on (id) id, project_id, queue, array(select jsonb_array_elements_text(labels)) as labels, strict, key, places
    from unnest(${list(lanes, (l) => l.id)}::bigint[], ${list(lanes, (l) => l.projectId)}::uuid[],
                ${list(lanes, (l) => l.queue)}::text[], ${list(lanes, (l) => JSON.stringify(l.labels))}::jsonb[],
                ${list(lanes, (l) => l.isStrict)}::boolean[], ${list(lanes, (l) => l.gate?.key ?? null)}::text[],
                ${list(lanes, (l) => l.gate?.places ?? null)}::integer[])
      with ordinality as i(id, project_id, queue, labels, strict, key, places, n)
    order by id, n desc
  ), queues as (
    insert into queue (project_id, name) select distinct project_id, queue from input on conflict do nothing
  ), gates as (
    insert into gate (id, project_id, queue, labels, key, places)
    select id, project_id, queue, labels, key, places from input where key is not null order by id
    on conflict (id) do update set places = excluded.places
  )
  insert into lane (id, project_id, queue, labels, strict) select id, project_id, queue, labels, strict from input where key is null
  on conflict do nothing`

/** Lanes are never removed, so this process makes each of them known once, and again when its places change. */
export class LaneRegistry {
  readonly #known = new LRUCache<number, number>({ max: MAX_LANES_KNOWN })

  /** Registers what is not known yet, before any row refers to it. */
  async ensure(db: Queryable, lanes: readonly Lane[]): Promise<void> {
    const missing = lanes.filter(({ id, gate }) => this.#known.get(id) !== (gate?.places ?? 0))
    if (missing.length === 0) return
    await db.run(registerLanes(missing))
    for (const { id, gate } of missing) this.#known.set(id, gate?.places ?? 0)
  }
}

const MAX_LANES_KNOWN = 100_000

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

/**
 * Gates with a free place and something waiting behind them. The lanes that hold anything are found by
 * hopping from one to the next along the index of ready, so what waits behind a full gate is not read.
 */
export const openGates = ({ labels, limit }: { labels: readonly string[]; limit: number }) => sql<{
  id: number
}>`
  with recursive occupied(lane) as (
    (select lane from ready order by lane limit 1)
    union all
    select next.lane from occupied o
    cross join lateral (select lane from ready where lane > o.lane order by lane limit 1) next
  )
  select g.id from occupied o
  join gate g on g.id = o.lane
  join queue q on q.project_id = g.project_id and q.name = g.queue
  where g.held < g.places and q.paused_at is null and g.labels <@ ${list(labels, (label) => label)}::text[]
  limit ${limit}`

/** Whether any task has a concurrency key: without one nobody has to look for gates. */
export const anyGate = () => sql<{ any: boolean }>`select exists (select from gate) as any`

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
    from (select r.wake_at
          from (select id, project_id, queue from lane union all select id, project_id, queue from gate) l
          join ready r on r.lane = l.id
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
