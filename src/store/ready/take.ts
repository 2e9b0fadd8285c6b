/** The claiming half of the PostgreSQL transport: concurrent claims skip each other's locked rows. */
import type { Claim, ClaimedRun, ClaimRequest, GatedClaimRequest } from '../../core/run/claim.ts'
import { list, part, reading, sql } from '../database/sql.ts'
import { freeStarts, isLimited, nextAtAfter } from '../queues/rates.ts'

/** The result of a claim: at least one row, whose `runId` is null if no run was claimed. */
type Answer = { readonly isShort: boolean } & (ClaimedRun | { readonly runId: null })

function claimOf(rows: readonly Answer[]): Claim[] {
  const runs = rows.filter((row) => row.runId !== null)
  return [{ runs, isShort: rows[0]?.isShort ?? false }]
}

/** The first runs of one lane, in the order of priority and due time. */
const firstOfLane = part`select lane from asked l cross join lateral (
            select lane from ready where lane = l.id order by priority, wake_at, run_id limit l.most
          ) first`

/**
 * The first runs of several lanes. Within the same priority, projects take turns, and within a project its lanes, so that a
 * lane with very many waiting runs does not delay the others until it is empty. Among lanes with the same turn, the one listed
 * first comes first.
 */
const firstInTurn = part`select lane from (
            select first.*, row_number() over (partition by first.priority, l.project_id order by first.turn, l.n) as project_turn, l.n
            from (select a.id, a.most, a.n, lane.project_id from asked a left join lane on lane.id = a.id) l
            cross join lateral (
              select lane, priority, wake_at, run_id, row_number() over (partition by priority order by wake_at, run_id) as turn
              from ready where lane = l.id order by priority, wake_at, run_id limit l.most
            ) first
          ) waiting
          order by priority, project_turn, n`

/**
 * Claims up to `limit` waiting runs from the lanes for the worker, in one statement. A first read without locks determines how
 * many of the best runs come from each lane, so that no more rows are locked than taken. The array subquery is evaluated once,
 * so the limit is exact and the delete is a TID scan. The runs are returned in the order in which they were due: a worker that
 * claims more than it can start at once starts them in that order. A worker that was declared dead claims nothing; the
 * key-share lock delays such a declaration until this transaction has committed.
 */
export const takeReady = ({ workerId, lanes, limit, most }: ClaimRequest) =>
  reading(
    sql<Answer>`
      with alive as materialized (
        select id from node where id = ${workerId} and dead_at is null for key share
      ), asked as (
        select id, least(most, ${limit}) as most, n
        from unnest(${list(lanes, (id) => id)}::bigint[], ${list(lanes, (id) => most?.get(id) ?? limit)}::integer[])
          with ordinality as i(id, most, n)
      ), wanted as materialized (
        select lane, count(*)::integer as count from (
          ${lanes.length === 1 ? firstOfLane : firstInTurn}
          limit ${limit}
        ) best
        group by lane
      ), taken as (
        delete from ready
        where exists (select from alive) and ctid = any(array(
          select next.ctid from wanted w
          cross join lateral (
            select ctid from ready where lane = w.lane order by priority, wake_at, run_id limit w.count for update skip locked
          ) next))
        returning run_id
      ), claimed as (
        update agenda a set state = 'running', worker_id = ${workerId}, claimed_at = clock_timestamp(), fence = a.fence + 1, attempt = a.attempt + 1
        from taken t
        where a.run_id = t.run_id and a.state = 'pending'
        returning a.run_id, a.task_id, a.version, a.kind, a.scheduled_for, a.wake_at, a.fence, a.attempt, a.losses, a.lane, a.side, a.cancel_at
      )
      select run_id as "runId", task_id as "taskId", version, nullif(kind, 'occurrence') as kind, scheduled_for as "scheduledFor", wake_at as "wakeAt", fence, attempt, losses, lane, side,
             cancel_at is not null as "isCancelled", "isShort"
      from (select (select count(*) from claimed) < (select count(*) from taken) as "isShort") s left join claimed on true
      order by wake_at, run_id`,
    claimOf,
  )

/**
 * Claims waiting runs from lanes behind gates. The gates are locked first, those of projects before those of queues and keys,
 * and stay locked to the end: no other transaction can count their slots or claim from their lanes meanwhile, which makes the
 * limits and the rates exact and the order of a key strict. A gate locked by another transaction is skipped, and no more gates
 * of keys are locked than runs are wanted. A run holds slots in the gates of the lane in which it waited, even if an edit has
 * assigned it to another lane since.
 */
export const takeGated = ({ workerId, lanes, limit, most, upTo }: GatedClaimRequest) =>
  reading(
    sql<Answer>`
      with alive as materialized (
        select id from node where id = ${workerId} and dead_at is null for key share
      ), asked as materialized (
        select i.lane, i.n, i.most, i.last_priority, i.last_wake_at, l.gate_id, g.id as queue_gate_id, p.project_id as gated_project
        from unnest(
          ${list(lanes, (id) => id)}::bigint[], ${list(lanes, (id) => upTo?.get(id)?.priority ?? null)}::smallint[],
          ${list(lanes, (id) => upTo?.get(id)?.wakeAt ?? null)}::timestamptz[], ${list(lanes, (id) => most?.get(id) ?? limit)}::integer[]
        ) with ordinality as i(lane, last_priority, last_wake_at, most, n)
        cross join lateral (
          select id as gate_id, project_id, queue from gate where id = i.lane
          union all
          select null, project_id, queue from lane where id = i.lane
        ) l
        left join gate g on g.project_id = l.project_id and g.queue = l.queue and g.key is null and ${isLimited}
        left join project_gate p on p.project_id = l.project_id and (p.places is not null or p.rate_gap is not null)
        where exists (select from alive) and (l.gate_id is not null or g.id is not null or p.project_id is not null)
      ), projects as materialized (
        select g.project_id, ${freeStarts} as free from project_gate g
        where g.project_id in (select gated_project from asked) and ${freeStarts} > 0
        order by g.project_id for update skip locked
      ), queues as materialized (
        select g.id, ${freeStarts} as free from gate g
        where g.id in (select queue_gate_id from asked where gated_project is null or gated_project in (select project_id from projects)) and ${freeStarts} > 0
        order by g.id for update skip locked
      ), keys as materialized (
        select g.id, ${freeStarts} as free
        from asked a join gate g on g.id = a.gate_id
        where ${freeStarts} > 0 and (a.queue_gate_id is null or a.queue_gate_id in (select id from queues))
          and (a.gated_project is null or a.gated_project in (select project_id from projects))
        order by a.n limit ${limit} for update of g skip locked
      ), open as materialized (
        select a.lane, a.last_priority, a.last_wake_at, a.gate_id, a.queue_gate_id, w.free as queue_free, a.gated_project, p.free as project_free,
               least(k.free, w.free, p.free, a.most, ${limit}) as free
        from asked a
        left join keys k on k.id = a.gate_id
        left join queues w on w.id = a.queue_gate_id
        left join projects p on p.project_id = a.gated_project
        where (a.gate_id is null or k.id is not null) and (a.queue_gate_id is null or w.id is not null)
          and (a.gated_project is null or p.project_id is not null)
      ), best as materialized (
        select place from (
          select waiting.*, row_number() over (partition by gated_project order by priority, wake_at, run_id) as project_turn from (
          select next.*, o.queue_free, o.gated_project, o.project_free,
                 row_number() over (partition by o.queue_gate_id order by next.priority, next.wake_at, next.run_id) as turn
          from open o
          cross join lateral (
            select ctid as place, priority, wake_at, run_id from ready
            where lane = o.lane and (o.last_priority is null or (priority, wake_at) <= (o.last_priority, o.last_wake_at))
            order by priority, wake_at, run_id limit o.free
          ) next
          ) waiting
          where queue_free is null or turn <= queue_free
        ) fair
        where project_free is null or project_turn <= project_free
        order by priority, wake_at, run_id
        limit ${limit}
      ), taken as (
        delete from ready where ctid = any(array(select place from best)) returning run_id, lane
      ), claimed as (
        update agenda a set state = 'running', worker_id = ${workerId}, claimed_at = clock_timestamp(), fence = a.fence + 1,
          attempt = a.attempt + 1, gate_id = o.gate_id, queue_gate_id = o.queue_gate_id,
          holds_project_place = case when o.gated_project is not null then true end
        from taken t join open o on o.lane = t.lane
        where a.run_id = t.run_id and a.state = 'pending'
        returning a.*
      ), counted as (
        update gate g set held = g.held + p.count, next_at = ${nextAtAfter(part`p.count`)}, taken_at = p.first
        from (select p.id, count(*) as count, min(claimed_at) as first from claimed cross join lateral (values (gate_id), (queue_gate_id)) p(id)
              where p.id is not null group by p.id) p
        where g.id = p.id
      ), counted_projects as (
        update project_gate g set held = g.held + p.count, next_at = ${nextAtAfter(part`p.count`)}, taken_at = p.first
        from (select project_id, count(*) as count, min(claimed_at) as first from claimed where holds_project_place group by project_id) p
        where g.project_id = p.project_id
      )
      select run_id as "runId", task_id as "taskId", version, nullif(kind, 'occurrence') as kind, scheduled_for as "scheduledFor", wake_at as "wakeAt", fence, attempt, losses, lane, side,
             cancel_at is not null as "isCancelled", true as "holdsPlace", "isShort"
      from (select (select count(*) from open) < (select count(*) from asked)
                or (select count(*) from claimed) < (select count(*) from best)
                or (exists (select from open) and not exists (select from best)) as "isShort") s
      left join claimed on true
      order by priority, wake_at, run_id`,
    claimOf,
  )
