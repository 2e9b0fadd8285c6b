/**
 * Gates of projects limit how many of a project's runs may be in progress at once, and how often they may start. They work like
 * those of queues. The live row of a run in progress shows whether it holds a slot, and `held` is the number of such rows.
 */
import { SHARD_COUNT } from '../../core/ids.ts'
import { list, part, sql } from '../database/sql.ts'
import { gapOf, nextAtWithin, nextStartAt, windowOf } from './rates.ts'

/** A project and the limits of its runs; null for no limit. */
export interface ProjectGate {
  readonly projectId: string
  readonly maxRunning: number | null
  readonly runRate: string | null
}

/** Creates the gate, which must exist before runs hold slots of it. */
export const makeProjectGate = (projectId: string) => sql`
  insert into project_gate (project_id) values (${projectId}) on conflict do nothing`

/**
 * Sets or lifts the limits of a project and counts the runs in progress. The whole agenda is read, as for a queue; a locked row
 * is skipped, and `countRunningOfProjects` counts it if the run is not just ending.
 */
export const setProjectGate = ({ projectId, maxRunning, runRate }: ProjectGate) => sql`
  with uncounted as materialized (
    select run_id from agenda
    where ${maxRunning}::integer is not null and project_id = ${projectId} and state = 'running' and holds_project_place is null
    for update skip locked
  ), counted as (
    update agenda a set holds_project_place = true from uncounted u where a.run_id = u.run_id returning 1
  )
  update project_gate g set places = ${maxRunning}::integer, held = g.held + c.count, rate = ${runRate}, rate_gap = r.gap,
    rate_window = r.size, next_at = ${nextAtWithin(part`r.size`)}
  from (select count(*)::integer as count from counted) c,
       (select gap, ${windowOf(part`gap`, part`null::integer`)} as size from (select ${gapOf(runRate)}::bigint as gap) given) r
  where g.project_id = ${projectId}`

/** Counts the runs of a worker that it started before it knew of their project's limit. */
export const countRunningOfProjects = ({
  workerId,
  runIds,
}: {
  workerId: string
  runIds: readonly string[]
}) => sql`
  with uncounted as materialized (
    select a.run_id from agenda a join project_gate g on g.project_id = a.project_id and g.places is not null
    where a.run_id = any(${list(runIds, (id) => id)}::uuid[]) and a.worker_id = ${workerId} and a.state = 'running'
      and a.holds_project_place is null
    for update of a skip locked
  ), counted as (
    update agenda a set holds_project_place = true from uncounted u where a.run_id = u.run_id returning a.project_id
  ), places as (
    select project_id, count(*)::integer as count from counted group by project_id
  ), gates as (
    select project_id from project_gate where project_id in (select project_id from places) order by project_id for update
  )
  update project_gate g set held = g.held + p.count
  from gates l join places p on p.project_id = l.project_id where g.project_id = l.project_id`

/** Returns the gate of a project as users see it; no row if there never was a limit. */
export const readProjectGate = (projectId: string) => sql<{ running: number; opensAt: number | null }>`
  select g.held as running, ${nextStartAt} as "opensAt" from project_gate g where g.project_id = ${projectId}`

/** Returns the projects whose slots may need to be recounted. */
export const heldProjectGates = () => sql<{ projectId: string }>`
  select project_id as "projectId" from project_gate where held > 0 or places is not null order by project_id`

/** Locks the gate, so that a count made afterwards stays correct until the end of the transaction. */
export const lockProjectGate = (projectId: string) => sql<{ held: number }>`
  select held from project_gate where project_id = ${projectId} for update`

/**
 * Recounts the slots of a project. The gate must be locked: rows that are just ending are still seen and will be deducted
 * afterwards, and no other transaction adds any. The count can differ only after a node of a release ran that did not know of
 * these slots.
 */
export const recountProjectGate = (projectId: string) => sql<{ projectId: string }>`
  update project_gate g set held = c.count
  from (
    select count(*)::integer as count from generate_series(0, ${SHARD_COUNT - 1}::integer) as s(id)
    cross join lateral (
      select run_id from agenda
      where shard = s.id and wake_at <= now() + interval '1 second' and project_id = ${projectId} and holds_project_place and state = 'running'
    ) a
  ) c
  where g.project_id = ${projectId} and g.held <> c.count
  returning g.project_id as "projectId"`
