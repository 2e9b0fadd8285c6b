/** What the audit found: inconsistencies, repaired or not. */
import type { FindingKind } from '../../core/ledger/finding.ts'
import { list, sql } from '../database/sql.ts'
import { countAtMost } from '../history/stored-count.ts'

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
