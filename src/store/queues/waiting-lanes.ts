/** Finds lanes with waiting runs that are claimed only if they can start now. */
import { EXEC_LABEL, HTTP_LABEL, OWN_PREFIX } from '../../core/run/own-labels.ts'
import { list, type Part, part, reading, sql } from '../database/sql.ts'
import { isLimited, startsAhead } from './rates.ts'

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
