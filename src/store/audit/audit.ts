/**
 * The audit: checks that every task that continues has its next row, and that every live row will be handled by a node. The
 * walk over the tasks compares ranges of two indexes, one slice at a time, so checking a million correct tasks takes less than
 * a second of a core, and no schedule is computed for them.
 */

import { SHARD_COUNT } from '../../core/ids.ts'
import type { FindingKind } from '../../core/ledger/finding.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { elements, list, reading, sql } from '../database/sql.ts'
import { countAtMost } from '../history/stored-count.ts'
import { withDefinitions } from '../tasks/stored-definition.ts'

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

/** The largest value of the type that the length of a round has. */
const LONGEST_ROUND_MS = 2_147_483_647

/**
 * Records that the round has examined every task; the next round begins after the pause. A round may have begun before the cluster
 * was off for months.
 */
export const endAuditRound = ({ tasks, pauseMs }: { tasks: number; pauseMs: number }) => sql`
  update audit_progress set walked_to = null, tasks = 0, round_tasks = tasks + ${tasks}::integer, round_ended_at = clock_timestamp(),
    round_ms = least(${LONGEST_ROUND_MS}::integer, extract(epoch from clock_timestamp() - began_at) * 1000)::integer,
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

const NO_ID = '00000000-0000-0000-0000-000000000000'

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

/** Result of looking for tasks without their `resume` or `skip` row. */
export interface DutyLook {
  readonly tasks: readonly string[]
  /** The position from which to continue; null if there is nothing left. */
  readonly last: string | null
}

/**
 * Returns tasks that are to resume at a set time, or have occurrences to skip, but lack the row that does so. There are few
 * such tasks, and a partial index covers them.
 */
export const withoutDuty = ({ after, limit }: { after: string | null; limit: number }) =>
  reading(
    sql<{ tasks: string; last: string | null }>`
      with slice as materialized (
        select id, resume_at is not null as resumes from task
        where id > ${after ?? NO_ID}::uuid and cancelled_at is null and (resume_at is not null or skip_until is not null)
          and (resume_at is not null or paused_at is null)
        order by id limit ${limit}
      )
      select array(
               select s.id from slice s
               where not exists (
                 select from agenda a where a.task_id = s.id and a.kind = case when s.resumes then 'resume'::agenda_kind else 'skip' end)
             )::text as tasks,
             case when (select count(*) from slice) >= ${limit}::integer then (select id from slice order by id desc limit 1) end as last`,
    (rows): DutyLook[] => rows.map((row) => ({ ...row, tasks: elements(row.tasks) })),
  )

/** A task that lacks its `resume` or `skip` row. */
export interface DutifulTask {
  readonly projectId: string
  readonly version: number
  readonly definition: TaskDefinition
  readonly createdAt: number
  readonly kind: 'resume' | 'skip'
  readonly resumeAt: number | null
  readonly skipUntil: number | null
  /**
   * The latest occurrence that is in history or has a live row other than the next scheduled one, and is not after the last
   * occurrence to skip.
   */
  readonly skippedTo: number | null
}

/** Returns such a task, which must be locked; no row if it no longer lacks its row. */
export const dutyLost = (taskId: string) =>
  reading(
    sql<DutifulTask>`
      select t.project_id as "projectId", t.version, t.definition, t.created_at as "createdAt",
             case when t.resume_at is not null then 'resume' else 'skip' end as kind, t.resume_at as "resumeAt", t.skip_until as "skipUntil",
             greatest(
               (select scheduled_for from agenda a where a.task_id = t.id and a.scheduled_for <= t.skip_until
                  and (a.kind = 'catchup' or a.kind = 'occurrence' and a.state <> 'scheduled') order by scheduled_for desc limit 1),
               (select greatest(scheduled_for, covers_until) from run r where r.task_id = t.id and r.scheduled_for <= t.skip_until
                  and r.kind in ('occurrence', 'catchup') order by scheduled_for desc, run_id desc limit 1)) as "skippedTo"
      from task t
      where t.id = ${taskId} and t.cancelled_at is null and (t.resume_at is not null or (t.skip_until is not null and t.paused_at is null))
        and not exists (
          select from agenda a where a.task_id = t.id and a.kind = case when t.resume_at is not null then 'resume'::agenda_kind else 'skip' end)`,
    withDefinitions,
  )

/** Clears the skip of a task when nothing is left to skip. */
export const clearSkip = (taskId: string) =>
  sql`update task set skip_until = null, skip_reason = null, updated_at = now() where id = ${taskId} and paused_at is null`

/**
 * Marks a task as settled: until it changes, no further occurrence is expected. The ordinal is stored with it, because a later edit
 * can no longer read it from history that retention has deleted.
 */
export const settleTask = (taskId: string, nextOrdinal: number) =>
  sql`
    update task set settled_as_of = updated_at, next_ordinal = greatest(next_ordinal, least(${nextOrdinal}::bigint, 2147483647))
    where id = ${taskId}`

/** An inconsistency that the audit found. */
export interface Finding {
  readonly id: string
  readonly projectId: string
  /** Null if it is unknown whose rows are missing. */
  readonly taskId: string | null
  readonly runId: string | null
  readonly kind: FindingKind
  readonly isRepaired: boolean
  /** Number of occurrences that did not run because of it. */
  readonly missed: number
  readonly detail: string
}

export const insertFindings = (findings: readonly Finding[]) => sql`
  insert into audit_finding (id, project_id, task_id, run_id, kind, is_repaired, missed, detail)
  select * from unnest(
    ${list(findings, (f) => f.id)}::uuid[], ${list(findings, (f) => f.projectId)}::uuid[], ${list(findings, (f) => f.taskId)}::uuid[],
    ${list(findings, (f) => f.runId)}::uuid[], ${list(findings, (f) => f.kind)}::text[], ${list(findings, (f) => f.isRepaired)}::boolean[],
    ${list(findings, (f) => countAtMost(f.missed))}::integer[], ${list(findings, (f) => f.detail)}::text[])`

/** Records that a task could not be repaired, at most once a day. */
export const noteUnrepaired = ({ id, taskId, detail }: Pick<Finding, 'id' | 'taskId' | 'detail'>) => sql`
  insert into audit_finding (id, project_id, task_id, kind, is_repaired, detail)
  select ${id}::uuid, t.project_id, t.id,
         case when t.definition -> 'schedule' ->> 'type' = 'once' then 'one_off_lost' else 'next_row_lost' end, false, ${detail}
  from task t
  where t.id = ${taskId} and not exists (
    select from audit_finding f
    where f.project_id = t.project_id and f.found_at > now() - interval '1 day' and f.task_id = t.id and not f.is_repaired)`

/** A live row that no node will handle. */
export interface StrandedRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly state: 'pending' | 'running'
  readonly workerId: string | null
}

/** Where the search through the live rows of one shard continues. */
export interface ShardPosition {
  readonly shard: number
  readonly from: number | null
}

/** Result of searching the live rows of some shards. */
export interface StrandedLook {
  readonly rows: readonly StrandedRow[]
  /** The position from which to continue in each shard that has more rows. */
  readonly positions: readonly { readonly shard: number; readonly from: number }[]
}

/**
 * Returns rows that have been due for a long time and that no node will handle: pending rows without a row in `ready`, and
 * running rows of a node that is dead and buried, or no longer known. A limited number of rows of each shard is read along the
 * due index.
 */
export const strandedRows = ({
  positions,
  olderThanMs,
  maxPerShard,
}: {
  positions: readonly ShardPosition[]
  olderThanMs: number
  maxPerShard: number
}) => sql<StrandedLook>`
  with due as materialized (
    select a.* from unnest(${list(positions, (p) => p.shard)}::smallint[], ${list(positions, (p) => p.from)}::float8[]) as s(id, from_ms)
    cross join lateral (
      select run_id, task_id, project_id, shard, coalesce(side, lane) as lane, priority, wake_at, state, worker_id from agenda
      where shard = s.id and wake_at >= coalesce(to_timestamp(s.from_ms / 1000), '-infinity')
        and wake_at < now() - ${olderThanMs}::integer * interval '1 millisecond'
      order by wake_at limit ${maxPerShard}
    ) a
  ), stranded as (
    select * from due d
    where case d.state
      when 'pending' then not exists (
        select from ready r where r.lane = d.lane and r.priority = d.priority and r.wake_at = d.wake_at and r.run_id = d.run_id)
      when 'running' then not exists (select from node n where n.id = d.worker_id and (n.dead_at is null or n.buried_at is null))
      else false end
  )
  select coalesce((select jsonb_agg(jsonb_build_object('runId', run_id, 'taskId', task_id, 'projectId', project_id, 'state', state,
                                                       'workerId', worker_id)) from stranded), '[]') as rows,
         coalesce((select jsonb_agg(jsonb_build_object('shard', shard, 'from', ceil(extract(epoch from until) * 1000)))
                   from (select shard, max(wake_at) as until from due group by shard having count(*) >= ${maxPerShard}::integer) full_ones),
                  '[]') as positions`

/** All shards, read from the beginning. */
export const ALL_SHARDS: readonly ShardPosition[] = Array.from({ length: SHARD_COUNT }, (_, shard) => ({
  shard,
  from: null,
}))

/** Makes the reaper look for runs of dead nodes once more. */
export const unburyNodes = (ids: readonly string[]) => sql<{ id: string }>`
  update node set buried_at = null where id = any(${list(ids, (id) => id)}::uuid[]) and dead_at is not null and buried_at is not null
  returning id`

/** State of the audit, and what it found within the last day. */
export interface AuditSummary {
  readonly roundEndedAt: number | null
  readonly roundMs: number | null
  readonly roundTasks: number | null
  /** When the last complete round over the one-offs, and over the last day's history, ended. */
  readonly oneOffsEndedAt: number | null
  readonly historyEndedAt: number | null
  readonly repaired: number
  readonly unrepaired: number
  /** Number of minutes whose rows are missing from history. */
  readonly minutesLost: number
  readonly missed: number
}

export const auditSummary = ({ projectId, limit }: { projectId: string; limit: number }) => sql<AuditSummary>`
  select p.round_ended_at as "roundEndedAt", p.round_ms as "roundMs", p.round_tasks as "roundTasks",
         (select round_ended_at from audit_walk where name = 'one_offs') as "oneOffsEndedAt",
         (select round_ended_at from audit_walk where name = 'history') as "historyEndedAt", f.repaired, f.unrepaired, f.minutes_lost as "minutesLost", f.missed
  from audit_progress p
  cross join lateral (
    select count(*) filter (where is_repaired)::integer as repaired, count(*) filter (where not is_repaired and kind <> 'history_rows_lost')::integer as unrepaired,
           count(*) filter (where kind = 'history_rows_lost')::integer as minutes_lost,
           coalesce(sum(missed), 0)::bigint as missed
    from (
      select is_repaired, kind, missed from audit_finding
      where project_id = ${projectId} and found_at > now() - interval '1 day' order by found_at desc, id desc limit ${limit}
    ) latest
  ) f`

/** A finding as the API reads it. */
export interface FindingRow extends Omit<Finding, 'projectId'> {
  readonly taskName: string | null
  readonly foundAt: number
}

/** Lists findings, latest first. Ids are ordered by creation time. */
export const listFindings = ({
  projectId,
  taskId,
  before,
  limit,
}: {
  projectId: string
  taskId: string | null
  before: string | null
  limit: number
}) => sql<FindingRow>`
  select f.id, f.task_id as "taskId", f.run_id as "runId",
         case f.kind when 'held_by_the_dead' then 'held_by_dead_node' else f.kind end as kind, f.is_repaired as "isRepaired", f.missed, f.detail, f.found_at as "foundAt",
         (select coalesce(name, key) from task where id = f.task_id) as "taskName"
  from audit_finding f
  where f.project_id = ${projectId} and (${taskId}::uuid is null or f.task_id = ${taskId}::uuid)
    and (${before}::uuid is null or f.id < ${before}::uuid)
  order by f.id desc limit ${limit}`

export const deleteOldFindings = (olderThanDays: number) => sql`
  delete from audit_finding where found_at < now() - make_interval(days => ${olderThanDays}::integer)`
