/** Queues and lanes: registering, pausing and reading them, and counting their waiting runs. */
import type { Lane } from '../../core/run/lane.ts'
import { MAX_WAITING_COUNTED } from '../../core/values/counted.ts'
import { list, type Part, part, sql } from '../database/sql.ts'
import { gapOf, isLimited, nextAtWithin, windowOf } from './rates.ts'

/** `input`: lanes as rows; of two with the same id, the last. */
export const laneInput = (lanes: readonly Lane[]) => part`input as materialized (
    select distinct on (id) id, project_id, queue, array(select jsonb_array_elements_text(labels)) as labels, strict, handler, key, places, rate, burst, gap, ${windowOf(part`gap`, part`burst`)} as size
    from unnest(${list(lanes, (l) => l.id)}::bigint[], ${list(lanes, (l) => l.projectId)}::uuid[],
                ${list(lanes, (l) => l.queue)}::text[], ${list(lanes, (l) => JSON.stringify(l.labels))}::jsonb[],
                ${list(lanes, (l) => l.isStrict)}::boolean[], ${list(lanes, (l) => l.handler)}::text[],
                ${list(lanes, (l) => l.gate?.key ?? null)}::text[], ${list(lanes, (l) => l.gate?.places ?? null)}::integer[],
                ${list(lanes, (l) => l.gate?.rate ?? null)}::text[], ${list(lanes, (l) => l.gate?.burst ?? null)}::integer[],
                ${list(lanes, (l) => gapOf(l.gate?.rate))}::bigint[])
      with ordinality as i(id, project_id, queue, labels, strict, handler, key, places, rate, burst, gap, n)
    order by id, n desc
  )`

/**
 * `queues`: creates the queues of `input` or marks them as used. They are locked in order, even if they stay unchanged, before
 * `locked` returns a row. Statements that add lanes or gates join `locked`, and so run after a concurrent removal: if the
 * queues were looked up earlier, they could be found and then be deleted.
 */
export const usedQueues = part`queues as (
    insert into queue (project_id, name) select distinct project_id, queue from input order by project_id, queue
    on conflict (project_id, name) do update set used_at = now() where queue.used_at < now() - interval '1 hour'
    returning 1
  ), locked as materialized (
    select count(*) from queues
  ), queue_gates as (
    insert into gate (project_id, queue) select distinct project_id, queue from input cross join locked on conflict do nothing
  )`

/**
 * Those of the lanes whose gate is as they say, in a queue that counts as used, and so is not being removed: registering them would
 * change nothing, but lock the queue and the gate until the commit.
 */
export const settledGates = (lanes: readonly Lane[]) => sql<{ id: number }>`
  select g.id
  from unnest(${list(lanes, (l) => l.id)}::bigint[], ${list(lanes, (l) => l.gate?.places ?? null)}::integer[],
              ${list(lanes, (l) => l.gate?.rate ?? null)}::text[], ${list(lanes, (l) => l.gate?.burst ?? null)}::integer[])
    as i(id, places, rate, burst)
  join gate g on g.id = i.id
  join queue q on q.project_id = g.project_id and q.name = g.queue
  where q.used_at > now() - interval '1 hour' and (g.places, g.rate, g.burst) is not distinct from (i.places, i.rate, i.burst)`

/** Registers lanes, their queues and the gates of both; a gate gets the latest number of slots and the latest rate. */
export const registerLanes = (lanes: readonly Lane[]) => sql`
  with ${laneInput(lanes)}, ${usedQueues}, gates as (
    insert into gate as g (id, project_id, queue, labels, handler, key, places, rate, burst, rate_gap, rate_window)
    select id, project_id, queue, labels, handler, key, places, rate, burst, gap, size from input cross join locked where key is not null order by id
    on conflict (id) do update set places = excluded.places, rate = excluded.rate, burst = excluded.burst, rate_gap = excluded.rate_gap,
      rate_window = excluded.rate_window, next_at = ${nextAtWithin(part`excluded.rate_window`)}
    where (g.places, g.rate, g.burst) is distinct from (excluded.places, excluded.rate, excluded.burst)
  )
  insert into lane (id, project_id, queue, labels, handler, strict)
  select id, project_id, queue, labels, handler, strict from input cross join locked where key is null
  on conflict do nothing`

/** A lane that a worker may claim from. */
export interface ServedLane {
  readonly id: number
  readonly isStrict: boolean
  /** Whether it is the lane of catch-up runs, which are served last. */
  readonly isCatchUp: boolean
  /** For a side lane: the project whose runs wait here, and the line in which they need room. */
  readonly projectId: string
  readonly line: string | null
  /** Whether its queue or its project has a limit or a rate. Of such queues, only side lanes are returned. */
  readonly isLimited: boolean
}

/**
 * Returns the lanes whose queue is neither paused nor limited and whose labels the worker offers, and also the side lanes of
 * limited queues. Lanes of handlers are for workers that offer them, never for Belfry's own.
 */
export const servedLanes = (labels: readonly string[]) => sql<ServedLane>`
  select l.id, l.strict as "isStrict", l.catchup as "isCatchUp", l.project_id as "projectId", l.line, (g.id is not null or p.project_id is not null) as "isLimited"
  from lane l join queue q on q.project_id = l.project_id and q.name = l.queue
  left join gate g on g.project_id = l.project_id and g.queue = l.queue and g.key is null and ${isLimited}
  left join project_gate p on p.project_id = l.project_id and (p.places is not null or p.rate_gap is not null)
  where q.paused_at is null and l.handler is null and l.labels <@ ${list(labels, (label) => label)}::text[]
    and ((g.id is null and p.project_id is null) or l.line is not null)`

/** A queue as users see it. */
export interface QueueRow {
  readonly name: string
  readonly pausedAt: number | null
  readonly concurrencyLimit: number | null
  /** Number of runs in progress; null without a limit, because then they are not counted. */
  readonly running: number | null
  /** Starts, such as `10/s`, and how many may come at once. */
  readonly rate: string | null
  readonly burst: number | null
  /** Number of runs that wait for a worker, counted up to a limit. */
  readonly waiting: number
  readonly oldest: number | null
  readonly createdAt: number
}

const queueColumns = part`
  select q.name, q.paused_at as "pausedAt", q.created_at as "createdAt", waiting.count as waiting, waiting.oldest,
         w.places as "concurrencyLimit", case when w.places is not null then w.held end as running, w.rate, w.burst`

/** The lanes of a queue and of its concurrency keys, by the name of the queue. */
const lanesOf = (projectId: Part, name: Part) => part`
          select id from lane where project_id = ${projectId} and queue = ${name}
          union all
          select id from gate where project_id = ${projectId} and queue = ${name} and key is not null`

/** The waiting runs of each lane are found by the lane's id. */
const whatWaits = part`
  left join gate w on w.project_id = q.project_id and w.queue = q.name and w.key is null
  cross join lateral (
    select count(*)::integer as count, min(wake_at) as oldest
    from (select r.wake_at
          from (${lanesOf(part`q.project_id`, part`q.name`)}) l
          cross join lateral (select wake_at from ready where lane = l.id limit ${MAX_WAITING_COUNTED}) r
          limit ${MAX_WAITING_COUNTED}) counted
  ) waiting`

/** Which queues to read, in the order of their names. */
export interface QueuePage {
  readonly projectId: string
  /** Only queues whose name contains this, ignoring case. */
  readonly part: string | null
  /** Only queues after this name. */
  readonly after: string | null
  readonly limit: number
}

/** Returns a page of queues. A bounded number of names is read along the key; waiting runs are counted for the page only. */
export const listQueues = ({ projectId, part, after, limit }: QueuePage) => sql<QueueRow>`
  with page as materialized (
    select project_id, name, paused_at, created_at from queue
    where project_id = ${projectId} and name > ${after ?? ''} and (${part}::text is null or position(lower(${part}::text) in lower(name)) > 0)
    order by name limit ${limit}
  )
  ${queueColumns} from page q ${whatWaits}
  order by q.name`

export const findQueue = ({ projectId, name }: { projectId: string; name: string }) => sql<QueueRow>`
  ${queueColumns} from queue q ${whatWaits}
  where q.project_id = ${projectId} and q.name = ${name}`

/** Sorts before every waiting run. */
const NO_PRIORITY = -32_768
const NO_ID = '00000000-0000-0000-0000-000000000000'

/** The position of a run among the waiting ones, which start in this order. The instant is in microseconds. */
export interface WaitingPosition {
  readonly priority: number
  readonly us: number
  readonly id: string
}

/** Which of the waiting runs of a queue to read. */
export interface WaitingPage {
  readonly projectId: string
  readonly name: string
  readonly after: WaitingPosition | null
  readonly limit: number
}

/**
 * Returns the runs that wait in a queue, in the order in which they start. Of each lane, no more rows are read along its index
 * than the page holds.
 */
export const findWaiting = ({ projectId, name, after, limit }: WaitingPage) => sql<WaitingPosition>`
  select r.run_id as id, r.priority, (extract(epoch from r.wake_at) * 1000000)::bigint as us
  from (${lanesOf(part`${projectId}`, part`${name}`)}) l
  cross join lateral (
    select run_id, priority, wake_at from ready
    where lane = l.id
      and (priority, wake_at, run_id) > (${after?.priority ?? NO_PRIORITY}::smallint, coalesce(to_timestamp(${after?.us ?? null}::float8 / 1000000), '-infinity'),
                                         ${after?.id ?? NO_ID}::uuid)
    order by priority, wake_at, run_id limit ${limit}
  ) r
  order by r.priority, r.wake_at, r.run_id limit ${limit}`

/** Creates a queue and its gate if they do not exist, and marks the queue as used. */
export const makeQueue = ({ projectId, name }: { projectId: string; name: string }) => sql`
  with made as (
    insert into queue (project_id, name) values (${projectId}, ${name})
    on conflict (project_id, name) do update set used_at = now()
    returning project_id, name
  )
  insert into gate (project_id, queue) select project_id, name from made on conflict do nothing`

/** Pauses or resumes a queue. */
export const setQueuePaused = ({
  projectId,
  name,
  isPaused,
}: {
  projectId: string
  name: string
  isPaused: boolean
}) => sql`
  update queue set paused_at = case when ${isPaused}::boolean then coalesce(paused_at, now()) end
  where project_id = ${projectId} and name = ${name}`
