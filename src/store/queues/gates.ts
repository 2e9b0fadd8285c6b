/**
 * Gates limit how many runs may be in progress at once, and how often they may start. The lane of a concurrency key has a gate,
 * and so has each queue; project-gates.ts has the gates of projects. A run holds a slot exactly as long as its live row names
 * the gate; `held` is the number of such rows, and is updated in the same statement as they are. Gates are locked in the order
 * of their ids, those of queues first.
 */
import { EXEC_LABEL, HTTP_LABEL, OWN_PREFIX } from '../../core/run/own-labels.ts'
import { list, type Part, part, reading, sql } from '../database/sql.ts'
import { gapOf, isLimited, nextAtWithin, startsAhead, windowOf } from './rates.ts'

/**
 * `freed`: frees the slots that the rows of `before` hold; the gates are locked in order, those of projects last. The rows have
 * the columns `gate_id`, `queue_gate_id`, `project_id` and `holds_project_place` of the agenda.
 */
export const freedBy = (before: Part): Part => part`places as (
      select p.id, count(*) as count from ${before} cross join lateral (values (gate_id), (queue_gate_id)) p(id)
      where p.id is not null group by p.id
    ), gates as (
      select id from gate where id in (select id from places) order by id for update
    ), freed_gates as (
      update gate g set held = g.held - p.count from gates join places p on p.id = gates.id where g.id = gates.id
      returning 1
    ), ${lockedProjects(before)}, freed_projects as (
      update project_gate g set held = greatest(0, g.held - p.count)
      from project_gates l join project_places p on p.project_id = l.project_id where g.project_id = l.project_id
      returning 1
    ), freed as (
      select 1 from freed_gates union all select 1 from freed_projects
    )`

/** `project_places` and `project_gates`: the project gates in which rows hold slots, locked after the other gates. */
const lockedProjects = (before: Part): Part => part`project_places as (
      select project_id, count(*) as count from ${before} where holds_project_place group by project_id
    ), project_gates as (
      select project_id, taken_at from project_gate
      where project_id in (select project_id from project_places) and (select count(*) from freed_gates) >= 0
      order by project_id for update
    )`

export const freedPlaces = freedBy(part`before`)

/**
 * The same for runs that were never started. Their start does not count towards a rate, unless another claim has been made
 * since.
 */
export const returnedPlaces = part`places as (
      select p.id, claimed_at from before cross join lateral (values (gate_id), (queue_gate_id)) p(id) where p.id is not null
    ), gates as (
      select id, taken_at from gate where id in (select id from places) order by id for update
    ), freed_gates as (
      update gate g set held = g.held - p.count, next_at = g.next_at - p.unused * g.rate_gap * interval '1 microsecond'
      from (
        select gates.id, count(*) as count, count(*) filter (where places.claimed_at >= gates.taken_at) as unused
        from gates join places on places.id = gates.id group by gates.id
      ) p
      where g.id = p.id
      returning 1
    ), ${lockedProjects(part`before`)}, freed_projects as (
      update project_gate g set held = greatest(0, g.held - p.count), next_at = g.next_at - p.unused * g.rate_gap * interval '1 microsecond'
      from (
        select l.project_id, count(*) as count, count(*) filter (where b.claimed_at >= l.taken_at) as unused
        from project_gates l join before b on b.project_id = l.project_id and b.holds_project_place group by l.project_id
      ) p
      where g.project_id = p.project_id
      returning 1
    ), freed as (
      select 1 from freed_gates union all select 1 from freed_projects
    )`

/** Returns the gates of queues and projects with a limit on runs in progress. */
export const limitedGates = () => sql<{ id: string }>`
  select id::text as id from gate where key is null and places is not null
  union all
  select project_id::text from project_gate where places is not null`

/** A lane with waiting runs that are claimed only if they can start now. */
export interface WaitingLane {
  readonly id: number
  readonly isGated: boolean
  /** Whether it is the lane of a concurrency key, whose runs start in strict order. */
  readonly isKeyed: boolean
  /** Position of the first run in the first lane of the same queue that gets no turn yet. */
  readonly nextPriority: number | null
  readonly nextWakeAt: string | null
}

/** The waiting lanes whose runs may start. */
export interface WaitingLanes {
  readonly lanes: readonly WaitingLane[]
  /** Time after which to ask again because the rate of a queue or a key allows more starts; null if no run waits for a rate. */
  readonly opensInMs: number | null
}

/** What a worker can perform, and how many lanes it asks for. */
export interface Offer {
  /** The project that it works for; null for Belfry's own workers, which work for all projects. */
  readonly projectId?: string | null
  readonly labels: readonly string[]
  /** The handlers that it offers; null for Belfry's own workers, which perform everything else. */
  readonly handlers?: readonly string[] | null
  /** The only queues from which it takes runs; null for all queues. */
  readonly queues?: readonly string[] | null
  /** The side lanes for which it has room; others are not returned. */
  readonly sides?: readonly number[]
  /** Lanes of keys from which it cannot claim yet: they are returned, but do not take the turn of other lanes. */
  readonly blocked?: readonly number[]
  readonly limit: number
}

/**
 * Returns lanes with waiting runs that are never claimed ahead and may start now: lanes whose gates all have a free slot, and
 * lanes of runs that execute at most once. Remote workers claim nothing ahead and get all lanes, including side lanes, because
 * the room in a node's lines does not concern them. The best lanes come first; of a limited queue, there are no more lanes than
 * free slots, because that many are enough to fill them, and the position of the next lane is returned, so that no worker
 * claims runs behind it. Occupied lanes are found by skipping from one to the next along the index of `ready`, so only the
 * first row of each lane is read.
 */
export const waitingLanes = ({
  projectId = null,
  labels,
  handlers = null,
  queues = null,
  sides = [],
  blocked = [],
  limit,
}: Offer) =>
  reading(
    sql<{ opensInMs: number | null } & (WaitingLane | { id: null })>`
      with recursive occupied(lane, priority, wake_at) as (
        (select lane, priority, wake_at from ready order by lane, priority, wake_at limit 1)
        union all
        select next.lane, next.priority, next.wake_at from occupied o
        cross join lateral (
          select lane, priority, wake_at from ready where lane > o.lane order by lane, priority, wake_at limit 1
        ) next
      ), waiting as (
        select o.lane, o.priority, o.wake_at, l.keyed, o.lane = any(${list(blocked, (id) => id)}::bigint[]) as blocked, w.id as queue_gate, l.keyed or w.id is not null or p.project_id is not null as gated,
               least(p.room, (p.rate_window - p.ahead) / p.rate_gap) as project_free,
               least(w.room, (w.rate_window - w.ahead) / w.rate_gap) as queue_free, least(l.room, (l.rate_window - l.ahead) / l.rate_gap) as key_free,
               greatest(${opensIn(part`l.rate_gap`, part`l.rate_window`, part`l.ahead`)}, ${opensIn(part`w.rate_gap`, part`w.rate_window`, part`w.ahead`)},
                        ${opensIn(part`p.rate_gap`, part`p.rate_window`, part`p.ahead`)}) as opens_in
        from occupied o
        cross join lateral (
          select project_id, queue, labels, handler, true as keyed, false as strict, places - held as room, rate_gap, rate_window, ${startsAhead} as ahead
          from gate g where id = o.lane
          union all
          select project_id, queue, labels, handler, false, strict and not catchup, null, null, null, null from lane
          where id = o.lane and (line is null or ${handlers !== null}::boolean or id = any(${list(sides, (id) => id)}::bigint[]))
        ) l
        join queue q on q.project_id = l.project_id and q.name = l.queue
        left join lateral (
          select id, places - held as room, rate_gap, rate_window, ${startsAhead} as ahead from gate g
          where project_id = l.project_id and queue = l.queue and key is null and ${isLimited}
        ) w on true
        left join lateral (
          select project_id, places - held as room, rate_gap, rate_window, ${startsAhead} as ahead from project_gate g
          where g.project_id = l.project_id and ${isLimited}
        ) p on true
        where (l.keyed or l.strict or w.id is not null or p.project_id is not null or ${textList(handlers)}::text[] is not null)
          and q.paused_at is null and l.labels <@ ${list(labels, (label) => label)}::text[]
          and case when ${textList(handlers)}::text[] is null then l.handler is null
                   when l.handler is null then ${isForRemotes(labels)} else l.handler = any(${textList(handlers)}::text[]) end
          and (${projectId}::uuid is null or l.project_id = ${projectId}::uuid)
          and (${textList(queues)}::text[] is null or l.queue = any(${textList(queues)}::text[]))
      ), open as (
        select *, row_number() over (partition by queue_gate, blocked order by priority, wake_at) as turn from waiting
        where coalesce(least(key_free, queue_free, project_free), 1) > 0
      )
      select o.lane as id, o.gated as "isGated", o.keyed as "isKeyed", next.priority as "nextPriority", next.wake_at::text as "nextWakeAt",
             s."opensInMs"
      from (select min(opens_in)::float8 / 1000 as "opensInMs" from waiting where not blocked) s
      left join open o on o.queue_free is null or o.turn <= o.queue_free
      left join open next on next.queue_gate = o.queue_gate and next.blocked = o.blocked and next.turn = o.queue_free + 1
      order by o.priority, o.wake_at
      limit ${limit}`,
    (rows): WaitingLanes[] => [
      { lanes: rows.filter((row) => row.id !== null), opensInMs: rows[0]?.opensInMs ?? null },
    ],
  )

/**
 * Whether remote workers perform the runs of a lane without a handler if they offer all of its labels: programs, and calls of
 * tasks that require labels other than Belfry's own. Other calls stay with the nodes, which know the limits of targets.
 */
const isForRemotes = (labels: readonly string[]): Part =>
  isForActors(part`l.labels`, part`${labels.includes(HTTP_LABEL)}::boolean`)

/** The same by the labels of a lane and whether a worker makes calls. */
export const isForActors = (asked: Part, makesCalls: Part): Part => part`(
    ${EXEC_LABEL}::text = any(${asked}) or (${makesCalls} and exists (
      select from unnest(${asked}) as asked(label) where not starts_with(label, ${OWN_PREFIX}::text))))`

/**
 * Microseconds after which to ask again once everything that may start now has started: if the burst allows it, starts are
 * collected for a while, because a claim for each of them would cost too much.
 */
const opensIn = (gap: Part, window: Part, ahead: Part): Part =>
  part`case when ${gap} is not null then greatest((${ahead} + ${gap} - 1) % ${gap} + 1, least(25000, (${window} - ${gap}) / 2)) end`

const textList = (words: readonly string[] | null) => words && list(words, (word) => word)

/** A queue, and the maximum number of its runs in progress; null for no limit. */
export interface QueueLimit {
  readonly projectId: string
  readonly name: string
  readonly limit: number | null
}

/**
 * Sets or lifts the limit of a queue and counts the runs in progress. The whole agenda is read, because no index covers running
 * rows: limits change rarely, runs constantly. A locked row is skipped, because most likely the run is just ending; otherwise,
 * `countRunning` counts it.
 */
export const setQueueLimit = ({ projectId, name, limit }: QueueLimit) => sql`
  with uncounted as materialized (
    select run_id from agenda
    where ${limit}::integer is not null and state = 'running' and queue_gate_id is null and lane in (
      select id from lane where project_id = ${projectId} and queue = ${name}
      union all
      select id from gate where project_id = ${projectId} and queue = ${name} and key is not null)
    for update skip locked
  ), counted as (
    update agenda a set queue_gate_id = w.id
    from uncounted u, gate w
    where a.run_id = u.run_id and w.project_id = ${projectId} and w.queue = ${name} and w.key is null
    returning 1
  )
  update gate w set places = ${limit}::integer, held = w.held + c.count
  from (select count(*)::integer as count from counted) c
  where w.project_id = ${projectId} and w.queue = ${name} and w.key is null`

/** The rate of a queue: starts, such as `10/s`, and how many may come at once. An undefined value leaves the setting unchanged. */
export interface QueueRate {
  readonly rate?: string | null | undefined
  readonly burst?: number | null | undefined
}

/**
 * Sets or lifts the rate of a queue; returns the resulting rate. The burst is lifted with the rate. Past starts count, but no
 * longer than the burst allows.
 */
export const setQueueRate = ({ projectId, name, rate, burst }: QueueRate & Omit<QueueLimit, 'limit'>) => sql<{
  rate: string | null
}>`
  update gate g set rate = r.rate, burst = r.burst, rate_gap = r.gap, rate_window = r.size, next_at = ${nextAtWithin(part`r.size`)}
  from (
    select id, rate, burst, gap, ${windowOf(part`gap`, part`burst`)} as size
    from (
      select id, rate, gap, case when rate is null then null when ${burst !== undefined}::boolean then ${burst ?? null}::integer else burst end as burst
      from (
        select id, burst, case when ${rate !== undefined}::boolean then ${rate ?? null}::text else rate end as rate,
               case when ${rate !== undefined}::boolean then ${gapOf(rate)}::bigint else rate_gap end as gap
        from gate where project_id = ${projectId} and queue = ${name} and key is null
        for update
      ) stored
    ) rated
  ) r
  where g.id = r.id
  returning g.rate`

/**
 * Counts the runs of a worker that hold no slot of their queue although it has a limit: they were started by a worker that did
 * not know of the limit yet.
 */
export const countRunning = ({ workerId, runIds }: { workerId: string; runIds: readonly string[] }) => sql`
  with uncounted as materialized (
    select a.run_id, w.id as gate_id
    from agenda a
    cross join lateral (
      select project_id, queue from gate where id = a.lane union all select project_id, queue from lane where id = a.lane
    ) l
    join gate w on w.project_id = l.project_id and w.queue = l.queue and w.key is null and w.places is not null
    where a.run_id = any(${list(runIds, (id) => id)}::uuid[]) and a.worker_id = ${workerId} and a.state = 'running'
      and a.queue_gate_id is null
    for update of a skip locked
  ), counted as (
    update agenda a set queue_gate_id = u.gate_id from uncounted u where a.run_id = u.run_id
    returning a.queue_gate_id as id
  ), places as (
    select id, count(*)::integer as count from counted group by id
  ), gates as (
    select id from gate where id in (select id from places) order by id for update
  )
  update gate g set held = g.held + p.count from gates join places p on p.id = gates.id where g.id = gates.id`
