/**
 * Gates limit how many runs may be in progress at once, and how often they may start. The lane of a concurrency key has a gate,
 * and so has each queue; project-gates.ts has the gates of projects. A run holds a slot exactly as long as its live row names
 * the gate; `held` is the number of such rows, and is updated in the same statement as they are. Gates are locked in the order
 * of their ids, those of queues first.
 */
import { type Part, part, sql } from '../database/sql.ts'

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
