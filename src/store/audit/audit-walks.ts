/** The audit's walks other than the one over recurring tasks: their progress, and the slices of the walk over one-offs. */
import type { TaskDefinition } from '../../core/task/task.ts'
import { elements, list, reading, sql } from '../database/sql.ts'
import { withDefinitions } from '../tasks/stored-definition.ts'

export type WalkName = 'one_offs' | 'history' | 'queues'

/** Locks the walk for its next slice; no row if the slice is not due yet or another node is processing it. */
export const holdWalk = (name: WalkName) => sql<{ position: string | null }>`
  select position from audit_walk where name = ${name} and next_pass_at <= clock_timestamp() for update skip locked`

/** Stores where a walk continues; null if its round has ended. */
export const saveWalk = ({
  name,
  position,
  pauseMs,
}: {
  name: WalkName
  position: string | null
  pauseMs: number
}) => sql`
  update audit_walk set position = ${position}::text, next_pass_at = clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond',
    round_ended_at = case when ${position}::text is null then clock_timestamp() else round_ended_at end
  where name = ${name}`

/** Result of examining a slice of the one-offs. */
export interface OneOffSlice {
  readonly examined: number
  /** The last task of the slice; null if there is none. */
  readonly last: string | null
  /** One-offs without a live row and without a run that ended within a day after their creation, ordered by id. */
  readonly unsure: readonly string[]
}

const NO_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Reads the next tasks in the order of their ids, and determines which of them are one-offs that may be lost. Most one-offs end
 * within a day of their creation, so one or two days of history are searched for each; the others, and those that were edited,
 * are checked exactly afterwards.
 */
export const oneOffSlice = ({
  after,
  limit,
  maxUnsure,
}: {
  after: string | null
  limit: number
  maxUnsure: number
}) =>
  reading(
    sql<{ examined: number; last: string | null; unsure: string }>`
      with slice as materialized (
        select id, version, created_at,
               cancelled_at is null and paused_at is null and settled_as_of is distinct from updated_at
                 and coalesce(definition_in_brief(definition, brief, version) -> 'schedule' ->> 'type', '') = 'once' as is_open
        from task where id > ${after ?? NO_ID}::uuid order by id limit ${limit}
      )
      select (select count(*)::integer from slice) as examined, (select id from slice order by id desc limit 1) as last,
             array(
               select s.id from slice s
               where s.is_open
                 and not exists (select from agenda a where a.task_id = s.id and a.kind in ('occurrence', 'catchup', 'skip'))
                 and (s.version > 1 or not exists (
                   select from run r where r.task_id = s.id and r.kind in ('occurrence', 'catchup')
                     and r.ended_at >= s.created_at and r.ended_at < s.created_at + interval '1 day'))
               order by s.id limit ${maxUnsure})::text as unsure`,
    (rows): OneOffSlice[] => rows.map((row) => ({ ...row, unsure: elements(row.unsure) })),
  )

/** A one-off without a live row, and what is needed to determine whether it has run. */
export interface OneOff {
  readonly id: string
  readonly definition: TaskDefinition
  readonly createdAt: number
  /** The latest occurrence in history. */
  readonly latest: number | null
  readonly historyFrom: number
  readonly now: number
}

export const oneOffs = (ids: readonly string[]) =>
  reading(
    sql<OneOff>`
      select t.id, definition_in_brief(t.definition, t.brief, t.version) as definition, t.created_at as "createdAt",
             (select greatest(scheduled_for, covers_until) from run where task_id = t.id and kind in ('occurrence', 'catchup')
              order by scheduled_for desc, run_id desc limit 1) as latest,
             history_begin(t.project_id) as "historyFrom",
             clock_timestamp() as now
      from task t where t.id = any(${list(ids, (id) => id)}::uuid[])`,
    withDefinitions,
  )

/** Marks one-offs as settled, so that no further occurrence is expected; skips those that are locked by a change. */
export const settleOneOffs = (ids: readonly string[]) => sql`
  update task set settled_as_of = updated_at where id in (
    select id from task where id = any(${list(ids, (id) => id)}::uuid[]) and cancelled_at is null and paused_at is null
      and not exists (select from agenda a where a.task_id = task.id)
    order by id for update skip locked)`
