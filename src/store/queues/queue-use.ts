/** Determines which queues are in use: a walk over tasks and live rows renews the queues that they refer to. */
import { part, sql } from '../database/sql.ts'

/** Result of examining a slice. */
export interface UseSlice {
  readonly examined: number
  /** The last row of the slice; null if there is none. */
  readonly last: string | null
}

const NO_ID = '00000000-0000-0000-0000-000000000000'

/** `renewed`: marks the queues in `named` as used. A locked row is skipped: that transaction uses the queue, or deletes it. */
const renewed = part`renewed as (
    update queue q set used_at = now() from (
      select project_id, name from queue
      where (project_id, name) in (select project_id, queue from named) and used_at < now() - interval '1 hour'
      for no key update skip locked
    ) due
    where q.project_id = due.project_id and q.name = due.name
  )`

/**
 * Renews the queues of the next tasks in the order of their ids. Only tasks that can continue without a live row count: paused,
 * recurring and manually triggered ones. One-offs are found through their live rows; running one again registers its lane.
 */
export const renewQueuesOfTasks = ({
  after,
  limit,
}: {
  after: string | null
  limit: number
}) => sql<UseSlice>`
  with slice as materialized (
    select id, project_id, paused_at, deleted_at is null and cancelled_at is null as goes_on,
           definition_in_brief(definition, brief, version) as definition
    from task where id > ${after ?? NO_ID}::uuid order by id limit ${limit}
  ), named as materialized (
    select distinct project_id, definition ->> 'queue' as queue from slice
    where goes_on and definition ->> 'queue' is not null
      and (paused_at is not null or definition -> 'schedule' ->> 'type' is distinct from 'once')
  ), ${renewed}
  select (select count(*)::integer from slice) as examined, (select id from slice order by id desc limit 1) as last`

/** Renews the queues in whose lanes the next live rows wait or will wait, in the order of their ids. */
export const renewQueuesOfRuns = ({ after, limit }: { after: string | null; limit: number }) => sql<UseSlice>`
  with slice as materialized (
    select run_id, lane from agenda where run_id > ${after ?? NO_ID}::uuid order by run_id limit ${limit}
  ), lanes as materialized (
    select distinct lane from slice
  ), named as materialized (
    select l.project_id, l.queue from lanes i join lane l on l.id = i.lane
    union
    select g.project_id, g.queue from lanes i join gate g on g.id = i.lane
  ), ${renewed}
  select (select count(*)::integer from slice) as examined, (select run_id from slice order by run_id desc limit 1) as last`

/**
 * Stores where the walk continues; null if its round has ended. A round begins with its first slice, before anything is read:
 * whatever is stored from then on renews its queue itself.
 */
export const saveQueueWalk = ({
  position,
  isFirst,
  pauseMs,
}: {
  position: string | null
  isFirst: boolean
  pauseMs: number
}) => sql`
  update audit_walk set position = ${position}::text, next_pass_at = clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond',
    began_at = case when ${isFirst}::boolean then now() else began_at end,
    complete_since = case when ${position}::text is null then began_at else complete_since end,
    round_ended_at = case when ${position}::text is null then clock_timestamp() else round_ended_at end
  where name = 'queues'`
