/**
 * Open circuits, as seen by the node that opened them. Other nodes treat them as hints. If they are lost, nothing breaks,
 * because each node finds out for itself.
 */
import type { CallError } from '../../core/target/target-state.ts'
import { list, part, sql } from '../database/sql.ts'

/** Closed circuits are kept this long for clients that watch for changes. */
const CLOSED_KEPT_MINUTES = 10
/**
 * An open circuit that its node has not renewed this long after its probe was due does not count: the node has no run to probe
 * with.
 */
const OVERDUE_SECONDS = 35

/** A circuit that a node opened, closed, or kept open after a failed probe. */
export interface CircuitChange {
  readonly projectId: string
  readonly target: string
  readonly state: 'open' | 'closed'
  readonly openedAt: number
  /** When the next probe is due; null if the circuit is closed. */
  readonly until: number | null
  readonly error: CallError | null
}

/**
 * The event that a change caused for the cluster: the first node that opens a circuit opens it, the last one that closes it
 * closes it.
 */
export interface StoredChange {
  readonly projectId: string
  readonly target: string
  readonly event: 'opened' | 'closed' | null
}

/** `open_circuits`: open circuits of living nodes. */
export const openCircuits = part`open_circuits as not materialized (
    select c.* from target_circuit c join node n on n.id = c.node_id and n.dead_at is null
    where c.state = 'open' and c.until > clock_timestamp() - make_interval(secs => ${OVERDUE_SECONDS}::integer)
  )`

/** The id of the line from a project to a target; `t` has both. */
const lineId = part`md5(t.project_id::text || ' ' || t.target)::uuid`

/** The number of the next event of a line `t`. */
const nextNumber = part`1 + coalesce((
      select max(number) from circuit_event e where e.project_id = t.project_id and e.target = t.target), 0)`

/**
 * Stores changes to a node's circuits, at most one for each circuit: the latest. A circuit that other nodes keep open is still
 * open.
 */
export const writeCircuits = (nodeId: string, changes: readonly CircuitChange[]) => sql<StoredChange>`
  with ${openCircuits}, input as materialized (
    select * from unnest(
      ${list(changes, (c) => c.projectId)}::uuid[], ${list(changes, (c) => c.target)}::text[], ${list(changes, (c) => c.state)}::text[],
      ${list(changes, (c) => c.openedAt)}::float8[], ${list(changes, (c) => c.until)}::float8[],
      ${list(changes, (c) => c.error && JSON.stringify(c.error))}::jsonb[]) as i(project_id, target, state, opened_at, until, error)
  ), written as (
    insert into target_circuit (project_id, target, node_id, state, opened_at, until, error)
    select project_id, target, ${nodeId}::uuid, state, to_timestamp(opened_at / 1000), to_timestamp(until / 1000), error
    from input order by project_id, target
    on conflict (project_id, target, node_id) do update set state = excluded.state, opened_at = excluded.opened_at,
      until = excluded.until, error = excluded.error, changed_at = clock_timestamp()
  ), told as materialized (
    select i.*,
         case when exists (select from open_circuits c where c.project_id = i.project_id and c.target = i.target and c.node_id <> ${nodeId}::uuid) then null
              when i.state = 'closed' then 'closed'
              when exists (select from open_circuits c where c.project_id = i.project_id and c.target = i.target) then null
              else 'opened' end as event
    from input i
  ), recorded as (
    insert into circuit_event (project_id, target, line_id, number, event, opened_at, until, error)
    select t.project_id, t.target, ${lineId}, ${nextNumber}, t.event, to_timestamp(t.opened_at / 1000),
           case when t.event = 'opened' then to_timestamp(t.until / 1000) end, t.error
    from told t where t.event is not null order by t.project_id, t.target
    on conflict on constraint circuit_event_in_order do nothing
  )
  select project_id as "projectId", target, event from told`

/** An open circuit, as reported to other nodes. */
export interface SharedCircuitRow {
  readonly projectId: string
  readonly target: string
  readonly openedAt: number
  readonly until: number
  readonly error: CallError | null
}

/** A circuit that is open for the cluster. */
export interface OpenCircuit {
  readonly target: string
  readonly openedAt: number
  /** When the next probe is due. */
  readonly until: number
  readonly error: CallError | null
}

/** Returns the open circuits of a project, longest open first. */
export const openCircuitsOf = ({
  projectId,
  limit,
}: {
  projectId: string
  limit: number
}) => sql<OpenCircuit>`
  with ${openCircuits}
  select * from (
    select distinct on (target) target, opened_at as "openedAt", until, error from open_circuits
    where project_id = ${projectId} order by target, opened_at
  ) c
  order by "openedAt", target limit ${limit}`

/** A circuit that opened or closed for the cluster. */
export interface CircuitNews {
  readonly target: string
  readonly isOpen: boolean
  /** When it opened, or closed. */
  readonly at: number
  /** When the next probe is due; null if the circuit is closed. */
  readonly until: number | null
  readonly error: CallError | null
}

/** Returns circuits of a project that opened or closed since an instant, latest first. A failed probe is not a change. */
export const circuitsChangedSince = ({
  projectId,
  since,
  limit,
}: {
  projectId: string
  since: number
  limit: number
}) => sql<CircuitNews>`
  with ${openCircuits}, changed as materialized (
    select target, max(changed_at) as changed_at from target_circuit
    where changed_at >= to_timestamp(${since}::float8 / 1000) and project_id = ${projectId} group by target
  ), news as (
    select c.target, o.opened_at is not null as is_open, coalesce(o.opened_at, c.changed_at) as at, o.until, o.error
    from changed c
    left join lateral (
      select opened_at, until, error from open_circuits o where o.project_id = ${projectId} and o.target = c.target
      order by opened_at limit 1
    ) o on true
  )
  select target, is_open as "isOpen", at, until, error from news
  where at >= to_timestamp(${since}::float8 / 1000) order by at desc, target limit ${limit}`

/**
 * Deletes circuits that have been closed for a long time, those of dead nodes, and open ones that no longer count; if that
 * leaves a circuit closed for the cluster, the event is recorded.
 */
export const deleteStaleCircuits = () => sql`
  with ${openCircuits}, gone as (
    delete from target_circuit c
    where (c.state = 'closed' and c.changed_at < clock_timestamp() - make_interval(mins => ${CLOSED_KEPT_MINUTES}::integer))
       or (c.state = 'open' and c.until <= clock_timestamp() - make_interval(secs => ${OVERDUE_SECONDS}::integer))
       or not exists (select from node where id = c.node_id and dead_at is null)
    returning c.project_id, c.target, c.state, c.opened_at, c.error
  )
  insert into circuit_event (project_id, target, line_id, number, event, opened_at, error)
  select t.project_id, t.target, ${lineId}, ${nextNumber}, 'closed', min(t.opened_at), null
  from gone t
  where t.state = 'open' and not exists (select from open_circuits c where c.project_id = t.project_id and c.target = t.target)
    and 'opened' = (select event from circuit_event e where e.project_id = t.project_id and e.target = t.target order by number desc limit 1)
  group by t.project_id, t.target
  on conflict on constraint circuit_event_in_order do nothing`

/** Deletes circuit events that are older than the retention of history. */
export const deleteOldCircuitEvents = (olderThanDays: number) => sql`
  delete from circuit_event where at < now() - make_interval(days => ${olderThanDays}::integer)`
