/**
 * Gates: how many of the runs behind one may be in progress at once, and how often they may start. The lane of a concurrency key has
 * a gate, and so has each queue; project-gates.ts has those of projects. A place is held exactly as long as a live row names the gate it is one of; `held` is the
 * number of such rows, and changes in the statement that changes them. Gates are locked in the order of
 * their ids, those of queues first.
 */
import { EXEC_LABEL, HTTP_LABEL, OWN_PREFIX } from '../../core/run/own-labels.ts'
import { list, type Part, part, reading, sql } from '../database/sql.ts'
import { gapOf, isLimited, nextAtWithin, startsAhead, windowOf } from './rates.ts'

/**
 * `freed`: the places that the rows of `before` held are free again; the gates are locked in order, those of projects last.
 * The rows have the columns `gate_id`, `queue_gate_id`, `project_id` and `holds_project_place` of the agenda.
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

/** `project_places` and `project_gates`: gates of projects that rows hold places of, locked once the other gates are. */
const lockedProjects = (before: Part): Part => part`project_places as (
      select project_id, count(*) as count from ${before} where holds_project_place group by project_id
    ), project_gates as (
      select project_id, taken_at from project_gate
      where project_id in (select project_id from project_places) and (select count(*) from freed_gates) >= 0
      order by project_id for update
    )`

export const freedPlaces = freedBy(part`before`)

/**
 * The same for runs that were never begun. A start that was not made does not count towards a rate, as long as no other claim has
 * counted on it since.
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

/** Gates of the queues and projects whose runs in progress are limited. */
export const limitedGates = () => sql<{ id: string }>`
  select id::text as id from gate where key is null and places is not null
  union all
  select project_id::text from project_gate where places is not null`

/** A lane whose runs are claimed only into a free place, and something waits in it. */
export interface WaitingLane {
  readonly id: number
  readonly isGated: boolean
  /** It is the lane of a concurrency key, whose runs start in strict order. */
  readonly isKeyed: boolean
  /** Where the first lane of the same queue stands that has no turn yet. */
  readonly nextPriority: number | null
  readonly nextWakeAt: string | null
}

/** What may start of what waits. */
export interface WaitingLanes {
  readonly lanes: readonly WaitingLane[]
  /** When it is worth asking again because the rate of a queue or a key allows more, if something waits for that. */
  readonly opensInMs: number | null
}

/** What a worker is able to do, and how many lanes it wants to hear of. */
export interface Offer {
  /** The project that it works for; null for a worker of ours, which works for all of them. */
  readonly projectId?: string | null
  readonly labels: readonly string[]
  /** The handlers that it offers; null for a worker of ours, which performs everything else. */
  readonly handlers?: readonly string[] | null
  /** The queues that it keeps to; null for all of them. */
  readonly queues?: readonly string[] | null
  /** The side lanes that it has room for; it hears of no others. */
  readonly sides?: readonly number[]
  /** Lanes of keys that it cannot take from yet: they are told, and take no other lane's turn. */
  readonly blocked?: readonly number[]
  readonly limit: number
}

/**
 * Lanes in which something waits that is never claimed ahead and may start now: those behind gates that all
 * have a free place, and those of runs that happen at most once. Workers of users claim nothing ahead, and hear of all lanes,
 * also of those beside others: room on a node is nothing to them. The best come first, and of a limited queue no
 * more than it has free places, because that many lanes are enough to fill them; where the next one stands is told,
 * so that nobody takes what comes after that. The lanes that hold anything are found by hopping from one to the
 * next along the index of ready, so only the first of each lane is read.
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
 * Whether workers of users perform what waits in a lane without a handler, when they offer all that it asks for: programs, and calls of
 * tasks that ask for more than Belfry's own labels. Other calls stay with the nodes, which know the limits of targets.
 */
const isForRemotes = (labels: readonly string[]): Part =>
  isForActors(part`l.labels`, part`${labels.includes(HTTP_LABEL)}::boolean`)

/** The same by the labels of a lane and whether a worker makes calls. */
export const isForActors = (asked: Part, makesCalls: Part): Part => part`(
    ${EXEC_LABEL}::text = any(${asked}) or (${makesCalls} and exists (
      select from unnest(${asked}) as asked(label) where not starts_with(label, ${OWN_PREFIX}::text))))`

/**
 * Microseconds until it is worth asking again, when all that may start now has started: starts are gathered for a while if the burst
 * allows that, because a claim for each of them would cost too much.
 */
const opensIn = (gap: Part, window: Part, ahead: Part): Part =>
  part`case when ${gap} is not null then greatest((${ahead} + ${gap} - 1) % ${gap} + 1, least(25000, (${window} - ${gap}) / 2)) end`

const textList = (words: readonly string[] | null) => words && list(words, (word) => word)

/** A queue, and how many of its runs may be in progress at once; null for any number. */
export interface QueueLimit {
  readonly projectId: string
  readonly name: string
  readonly limit: number | null
}

/**
 * Sets or lifts the limit of a queue and counts what is in progress. The agenda is read as a whole, because no
 * index knows what is running: limits are rarely set, runs are not. A row that somebody has locked is passed
 * over, since most likely it is just ending; `countRunning` finds it if not.
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

/** The rate of a queue: starts, such as `10/s`, and how many may come at once. What is undefined stays as it is. */
export interface QueueRate {
  readonly rate?: string | null | undefined
  readonly burst?: number | null | undefined
}

/**
 * Sets or lifts the rate of a queue; answers the rate it has then. A burst goes with its rate. What has started counts, but never for
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
 * Counts those of a worker's runs that hold no place of their queue although it has a limit: they were
 * started by a worker that had not noticed yet.
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
