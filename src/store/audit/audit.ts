/**
 * The audit: whether every task that goes on has the row that it goes on with, and whether every live row has
 * somebody who will look at it. The walk over the tasks compares two ranges of two indexes, a slice at a time, so
 * a million tasks in order cost less than a second of a core, and no schedule is computed for any of them.
 */

import { SHARD_COUNT } from '../../core/ids.ts'
import type { FindingKind } from '../../core/ledger/finding.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { elements, list, reading, sql } from '../database/sql.ts'
import { withDefinitions } from '../tasks/stored-definition.ts'

/** How far the walk has come. */
export interface AuditProgress {
  readonly walkedTo: string | null
  readonly beganAt: number
  readonly tasks: number
  /** How many tasks the round before had. */
  readonly roundTasks: number | null
  readonly now: number
}

/** The right to do the next slice; no row when it is not time yet or somebody else is at it. */
export const holdAudit = () => sql<AuditProgress>`
  select walked_to as "walkedTo", began_at as "beganAt", tasks, round_tasks as "roundTasks", clock_timestamp() as now
  from audit_progress where next_pass_at <= clock_timestamp() for update skip locked`

/** When the next slice is due; for those who wait for it. */
export const nextAuditPass = () => sql<{ inMs: number }>`
  select greatest(0, extract(epoch from next_pass_at - clock_timestamp()) * 1000)::float8 as "inMs" from audit_progress`

/** Notes how far a slice has come. */
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

/** Notes that every task was looked at; the next round begins after the pause. */
export const endAuditRound = ({ tasks, pauseMs }: { tasks: number; pauseMs: number }) => sql`
  update audit_progress set walked_to = null, tasks = 0, round_tasks = tasks + ${tasks}::integer, round_ended_at = clock_timestamp(),
    round_ms = (extract(epoch from clock_timestamp() - began_at) * 1000)::integer,
    next_pass_at = clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond',
    began_at = clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond'`

/** What a slice of the walk has seen. */
export interface AuditSlice {
  readonly examined: number
  /** The last task of the slice; null when there is none. */
  readonly last: string | null
  /** Tasks of which no occurrence lies ahead: mostly they are just being fired. */
  readonly unsure: readonly string[]
}

const NO_ID = '00000000-0000-0000-0000-000000000000'

/**
 * The next tasks that go on, and which of them have no occurrence ahead. Both sides are read along an index in the
 * order of ids, and from the index alone.
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

/** Those of some tasks that have nothing to go on with: no row that waits, and no active run whose end writes one. */
export const withoutNextRow = (taskIds: readonly string[]) => sql<{ id: string }>`
  select t.id from unnest(${list(taskIds, (id) => id)}::uuid[]) as t(id)
  where not exists (
    select from agenda a where a.task_id = t.id
      and (a.delay_ms is not null or (a.kind in ('occurrence', 'skip') and a.state = 'scheduled')))
  order by t.id`

/** A task whose next row is gone, and what tells where it should go on. */
export interface StalledTask {
  readonly id: string
  readonly projectId: string
  readonly version: number
  readonly definition: TaskDefinition
  readonly createdAt: number
  readonly nextOrdinal: number
  /** The version before had the instants up to here. */
  readonly takenOverAt: number | null
  /** When its latest occurrence ended. */
  readonly lastEndedAt: number | null
  readonly now: number
}

/** Locks a task that goes on, as a change of it would; no row when it does not go on any more. */
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

/** What a look at the tasks with something to be done to them has seen. */
export interface DutyLook {
  readonly tasks: readonly string[]
  /** Where the next look goes on; null when there is none. */
  readonly last: string | null
}

/**
 * Tasks of which a pause ends by itself, or occurrences are to be skipped, and that have no row that does it. Few tasks are
 * such, and a partial index knows them.
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

/** A task that something is to be done to, without the row that does it. */
export interface DutifulTask {
  readonly projectId: string
  readonly version: number
  readonly definition: TaskDefinition
  readonly createdAt: number
  readonly kind: 'resume' | 'skip'
  readonly resumeAt: number | null
  readonly skipUntil: number | null
  /** The latest occurrence that is on its way or in history and not beyond those that are to be skipped. */
  readonly skippedTo: number | null
}

/** Such a task, which must be locked; no row when what it lacked is there after all. */
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

/** Notes that nothing is left to be skipped. */
export const forgetSkip = (taskId: string) =>
  sql`update task set skip_until = null, skip_reason = null, updated_at = now() where id = ${taskId} and paused_at is null`

/** Notes that a task owes nothing more, as long as it stays as it is. */
export const settleTask = (taskId: string) =>
  sql`update task set settled_as_of = updated_at where id = ${taskId}`

/** Something that was out of order. */
export interface Finding {
  readonly id: string
  readonly projectId: string
  /** Null where nothing tells whose rows are gone. */
  readonly taskId: string | null
  readonly runId: string | null
  readonly kind: FindingKind
  readonly isRepaired: boolean
  /** Occurrences that did not run because of it. */
  readonly missed: number
  readonly detail: string
}

export const insertFindings = (findings: readonly Finding[]) => sql`
  insert into audit_finding (id, project_id, task_id, run_id, kind, is_repaired, missed, detail)
  select * from unnest(
    ${list(findings, (f) => f.id)}::uuid[], ${list(findings, (f) => f.projectId)}::uuid[], ${list(findings, (f) => f.taskId)}::uuid[],
    ${list(findings, (f) => f.runId)}::uuid[], ${list(findings, (f) => f.kind)}::text[], ${list(findings, (f) => f.isRepaired)}::boolean[],
    ${list(findings, (f) => f.missed)}::integer[], ${list(findings, (f) => f.detail)}::text[])`

/** Notes that a task could not be put back; once a day, however often it is tried. */
export const noteUnrepaired = ({ id, taskId, detail }: Pick<Finding, 'id' | 'taskId' | 'detail'>) => sql`
  insert into audit_finding (id, project_id, task_id, kind, is_repaired, detail)
  select ${id}::uuid, t.project_id, t.id,
         case when t.definition -> 'schedule' ->> 'type' = 'once' then 'one_off_lost' else 'next_row_lost' end, false, ${detail}
  from task t
  where t.id = ${taskId} and not exists (
    select from audit_finding f
    where f.project_id = t.project_id and f.found_at > now() - interval '1 day' and f.task_id = t.id and not f.is_repaired)`

/** A live row that nobody will look at. */
export interface StrandedRow {
  readonly runId: string
  readonly taskId: string
  readonly projectId: string
  readonly state: 'pending' | 'running'
  readonly workerId: string | null
}

/** Where the look at the live rows of one shard goes on. */
export interface ShardPosition {
  readonly shard: number
  readonly from: number | null
}

/** What a look at the live rows of some shards has seen. */
export interface StrandedLook {
  readonly rows: readonly StrandedRow[]
  /** Where each shard that holds more goes on. */
  readonly positions: readonly { readonly shard: number; readonly from: number }[]
}

/**
 * Rows that have been due for long and that nobody will look at: pending without a row in ready, or running in the name of a
 * node that is dead and forgotten. A bounded part of each shard is read along the due index.
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

/** All shards, from the beginning. */
export const ALL_SHARDS: readonly ShardPosition[] = Array.from({ length: SHARD_COUNT }, (_, shard) => ({
  shard,
  from: null,
}))

/** Lets the reaper look once more for runs in the name of dead nodes. */
export const unburyNodes = (ids: readonly string[]) => sql<{ id: string }>`
  update node set buried_at = null where id = any(${list(ids, (id) => id)}::uuid[]) and dead_at is not null and buried_at is not null
  returning id`

/** How the audit stands, and what it found within the last day. */
export interface AuditSummary {
  readonly roundEndedAt: number | null
  readonly roundMs: number | null
  readonly roundTasks: number | null
  /** When every one-off was looked at, and all of the last day's history counted again. */
  readonly oneOffsEndedAt: number | null
  readonly historyEndedAt: number | null
  readonly repaired: number
  readonly unrepaired: number
  /** Minutes of which rows are gone from history. */
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
           coalesce(sum(missed), 0)::integer as missed
    from (
      select is_repaired, kind, missed from audit_finding
      where project_id = ${projectId} and found_at > now() - interval '1 day' order by found_at desc, id desc limit ${limit}
    ) latest
  ) f`

/** A finding as it is read. */
export interface FindingRow extends Omit<Finding, 'projectId'> {
  readonly taskName: string | null
  readonly foundAt: number
}

/** What was found, the latest first. Ids carry the time they were made at. */
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

export const forgetFindings = (olderThanDays: number) => sql`
  delete from audit_finding where found_at < now() - make_interval(days => ${olderThanDays}::integer)`
