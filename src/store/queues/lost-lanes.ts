/** Lanes in which runs wait although they are not registered: no worker would find those runs. */
import { LANE_FIELDS, type Lane } from '../../core/run/lane.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { elements, list, reading, sql } from '../database/sql.ts'
import { type StoredDefinition, wholeDefinition } from '../tasks/stored-definition.ts'
import { laneInput, usedQueues } from './queues.ts'

/** Result of examining some of the occupied lanes. */
export interface LaneLook {
  /** The last lane that was examined; null if there are no more after it. */
  readonly last: number | null
  readonly lost: readonly number[]
}

/**
 * Examines the next occupied lanes. They are found by skipping from one to the next along the index of `ready`, so one row of
 * each lane is read, however many runs wait there.
 */
export const lookForLostLanes = ({ after, limit }: { after: number; limit: number }) =>
  reading(
    sql<{ last: number | null; lost: string }>`
      with recursive occupied(lane, n) as (
        (select lane, 1 from ready where lane > ${after}::bigint order by lane limit 1)
        union all
        select next.lane, o.n + 1 from occupied o
        cross join lateral (select lane from ready where lane > o.lane order by lane limit 1) next
        where o.n < ${limit}::integer
      )
      select (select lane from occupied where n = ${limit}::integer) as last,
             array(
               select o.lane from occupied o
               where not exists (select from lane where id = o.lane) and not exists (select from gate where id = o.lane)
               order by o.lane)::text as lost`,
    (rows): LaneLook[] => rows.map(({ last, lost }) => ({ last, lost: elements(lost).map(Number) })),
  )

/** The part of one version of a task that determines the lane of its runs. */
export interface LaneClue {
  readonly lane: number
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  /** Only the fields that determine the lane come from the task. */
  readonly definition: TaskDefinition
}

/** An edit moves the active run of a chain to the lane of the new version, so versions later than the run's own count as well. */
const MAX_VERSIONS = 100

/** For each lane, returns the first waiting run with the definitions of its task since the run's own version, newest last. */
export const cluesToLanes = (lanes: readonly number[]) =>
  reading(
    sql<Omit<LaneClue, 'definition'> & { definition: StoredDefinition; queue: string | null }>`
      select l.id as lane, first.run_id as "runId", first.task_id as "taskId", first.project_id as "projectId", o.override ->> 'queue' as queue,
             (select json_object_agg(
                       key, case key when 'action' then json_build_object('type', value -> 'type', 'name', value -> 'name') else value end)
              from json_each(d.definition) where key = any(${list(LANE_FIELDS, (name) => name)}::text[])) as definition
      from unnest(${list(lanes, (id) => id)}::bigint[]) as l(id)
      cross join lateral (
        select a.run_id, a.task_id, a.project_id, a.version from ready r join agenda a on a.run_id = r.run_id and a.state = 'pending'
        where r.lane = l.id order by r.priority, r.wake_at, r.run_id limit 1
      ) first
      left join run_override o on o.run_id = first.run_id
      cross join lateral (
        select version, definition_in_brief(definition, brief, version) as definition from task where id = first.task_id
        union all
        (select version, definition_in_brief(definition, brief, version) from task_version
         where task_id = first.task_id and version >= first.version order by version limit ${MAX_VERSIONS})
      ) d
      order by l.id, d.version`,
    (rows) =>
      rows.map(({ definition, queue, ...clue }): LaneClue => {
        const whole = wholeDefinition(definition)
        return { ...clue, definition: { ...whole, queue: queue ?? whole.queue } }
      }),
  )

/** A lane to register again. */
export interface LostLane extends Lane {
  /** Whether it is the lane of catch-up runs. */
  readonly isCatchUp: boolean
}

/** Registers lanes, their queues and the gates of both again. Existing rows, including limits, are unchanged. */
export const restoreLanes = (lanes: readonly LostLane[]) => sql`
  with ${laneInput(lanes)}, kinds as (
    select * from unnest(${list(lanes, (l) => l.id)}::bigint[], ${list(lanes, (l) => l.isCatchUp)}::boolean[]) as i(id, is_catchup)
  ), ${usedQueues}, gates as (
    insert into gate (id, project_id, queue, labels, handler, key, places, rate, burst, rate_gap, rate_window)
    select id, project_id, queue, labels, handler, key, places, rate, burst, gap, size from input cross join locked where key is not null order by id
    on conflict do nothing
  )
  insert into lane (id, project_id, queue, labels, handler, strict, catchup)
  select id, project_id, queue, labels, handler, strict, is_catchup from input join kinds using (id) cross join locked where key is null
  on conflict do nothing`
