/**
 * The audit: checks that every task that continues has its next row, and that every live row will be handled by a node
 * (stranded-rows.ts, lost-duties.ts). The walk over the tasks compares ranges of two indexes, one slice at a time, so checking
 * a million correct tasks takes less than a second of a core, and no schedule is computed for them.
 */
import type { TaskDefinition } from '../../core/task/task.ts'
import { MAX_INTEGER } from '../../core/values/integer.ts'
import { elements, list, reading, sql } from '../database/sql.ts'
import { withDefinitions } from '../tasks/stored-definition.ts'
import { storedOrdinal } from '../tasks/stored-ordinal.ts'

/** Progress of the walk. */
export interface AuditProgress {
  readonly walkedTo: string | null
  readonly beganAt: number
  readonly tasks: number
  /** Number of tasks in the previous round. */
  readonly roundTasks: number | null
  readonly now: number
}

/** Locks the progress for the next slice; no row if the slice is not due yet or another node is processing it. */
export const holdAudit = () => sql<AuditProgress>`
  select walked_to as "walkedTo", began_at as "beganAt", tasks, round_tasks as "roundTasks", clock_timestamp() as now
  from audit_progress where next_pass_at <= clock_timestamp() for update skip locked`

/** Returns the time until the next slice is due. */
export const nextAuditPass = () => sql<{ inMs: number }>`
  select greatest(0, extract(epoch from next_pass_at - clock_timestamp()) * 1000)::float8 as "inMs" from audit_progress`

/** Stores the progress after a slice. */
export const saveAudit = ({
  walkedTo,
  tasks,
  pauseMs,
}: {
  walkedTo: string
  tasks: number
  pauseMs: number
}) => sql`
  update audit_progress set walked_to = ${walkedTo}::uuid, tasks = tasks + ${tasks}::integer,
    next_pass_at = clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond'`

/**
 * Records that the round has examined every task; the next round begins after the pause. A round may have begun before the cluster
 * was off for months.
 */
export const endAuditRound = ({ tasks, pauseMs }: { tasks: number; pauseMs: number }) => sql`
  update audit_progress set walked_to = null, tasks = 0, round_tasks = tasks + ${tasks}::integer, round_ended_at = clock_timestamp(),
    round_ms = least(${MAX_INTEGER}::integer, extract(epoch from clock_timestamp() - began_at) * 1000)::integer,
    next_pass_at = clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond',
    began_at = clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond'`

/** Result of examining a slice. */
export interface AuditSlice {
  readonly examined: number
  /** The last task of the slice; null if there is none. */
  readonly last: string | null
  /** Tasks without a future occurrence; usually they are just being fired. */
  readonly unsure: readonly string[]
}

export const NO_ID = '00000000-0000-0000-0000-000000000000'

/**
 * Reads the next tasks that continue, and determines which of them have no future occurrence. Both sides are read from an index
 * only, in the order of ids.
 */
export const auditSlice = ({ after, limit }: { after: string | null; limit: number }) =>
  reading(
    sql<{ examined: number; last: string | null; unsure: string }>`
      with slice as materialized (
        select id from task
        where id > ${after ?? NO_ID}::uuid and cancelled_at is null and paused_at is null and settled_as_of is distinct from updated_at
          and coalesce(definition -> 'schedule' ->> 'type', '') not in ('once', 'manual')
        order by id limit ${limit}
      ), last as materialized (
        select id from slice order by id desc limit 1
      ), ahead as materialized (
        select distinct task_id from agenda
        where task_id > ${after ?? NO_ID}::uuid and task_id <= (select id from last) and scheduled_for > now() and kind = 'occurrence'
      )
      select (select count(*)::integer from slice) as examined, (select id from last) as last,
             array(select id from slice except select task_id from ahead)::text as unsure`,
    (rows): AuditSlice[] => rows.map((row) => ({ ...row, unsure: elements(row.unsure) })),
  )

/**
 * Returns which of the given tasks have no next row: no scheduled row, and no live row of a chain, whose end writes the next
 * one.
 */
export const withoutNextRow = (taskIds: readonly string[]) => sql<{ id: string }>`
  select t.id from unnest(${list(taskIds, (id) => id)}::uuid[]) as t(id)
  where not exists (
    select from agenda a where a.task_id = t.id
      and (a.delay_ms is not null or (a.kind in ('occurrence', 'skip') and a.state = 'scheduled')))
  order by t.id`

/** A task whose next row is lost, and what is needed to determine where it continues. */
export interface StalledTask {
  readonly id: string
  readonly projectId: string
  readonly version: number
  readonly definition: TaskDefinition
  readonly createdAt: number
  readonly nextOrdinal: number
  /** The instant up to which the previous version owns the occurrences. */
  readonly takenOverAt: number | null
  /** When the latest occurrence ended. */
  readonly lastEndedAt: number | null
  readonly now: number
}

/** Locks a task that continues, as a change of it would; no row if it does not continue any more. */
export const lockStalled = (taskId: string) =>
  reading(
    sql<StalledTask>`
      select t.id, t.project_id as "projectId", t.version, t.definition, t.created_at as "createdAt", t.next_ordinal as "nextOrdinal",
             (select coalesce(due_until, replaced_at) from task_version v where v.task_id = t.id order by version desc limit 1) as "takenOverAt",
             (select ended_at from run where task_id = t.id and kind = 'occurrence' order by scheduled_for desc, run_id desc limit 1) as "lastEndedAt",
             clock_timestamp() as now
      from task t
      where t.id = ${taskId} and t.cancelled_at is null and t.paused_at is null
      for update of t`,
    withDefinitions,
  )

/**
 * Marks a task as settled: until it changes, no further occurrence is expected. The ordinal is stored with it, because a later edit
 * can no longer read it from history that retention has deleted.
 */
export const settleTask = (taskId: string, nextOrdinal: number) =>
  sql`
    update task set settled_as_of = updated_at, next_ordinal = greatest(next_ordinal, ${storedOrdinal(nextOrdinal)})
    where id = ${taskId}`
