/** Rows that PostgreSQL rejects: recorded for users to see, and settled once they are written after all. */
import type { RefusedOperation } from '../../core/ledger/refusal-report.ts'
import { list, sql } from './sql.ts'

/** A rejected row to record. */
export interface NewRefusal {
  readonly id: string
  readonly subject: string
  readonly runId: string | null
  readonly taskId: string | null
  readonly error: string
}

/**
 * Records rejected rows, one row per subject however often it is tried. What is not given is looked up: the task by the run,
 * and the project by the task.
 */
export const noteRefused = (operation: RefusedOperation, refusals: readonly NewRefusal[]) => sql`
  insert into refused_row (id, operation, subject, project_id, task_id, run_id, error)
  select i.id, ${operation}, i.subject, t.project_id, known.task_id, i.run_id, i.error
  from unnest(
    ${list(refusals, (r) => r.id)}::uuid[], ${list(refusals, (r) => r.subject)}::text[], ${list(refusals, (r) => r.runId)}::uuid[],
    ${list(refusals, (r) => r.taskId)}::uuid[], ${list(refusals, (r) => r.error)}::text[]) as i(id, subject, run_id, task_id, error)
  cross join lateral (
    select coalesce(i.task_id, (select task_id from agenda a where a.run_id = i.run_id)) as task_id
  ) known
  left join task t on t.id = known.task_id
  on conflict on constraint refused_row_is_single do update set
    error = excluded.error, tries = refused_row.tries + 1, last_at = now(), settled_at = null,
    first_at = case when refused_row.settled_at is null then refused_row.first_at else now() end`

/** Records that rejected rows have been written after all. */
export const settleRefused = (operation: RefusedOperation, subjects: readonly string[]) => sql`
  update refused_row set settled_at = now()
  where operation = ${operation} and subject = any(${list(subjects, (id) => id)}::text[]) and settled_at is null`

/** A row that is currently rejected. */
export interface RefusedRow {
  readonly operation: RefusedOperation
  readonly taskId: string | null
  readonly taskName: string | null
  readonly runId: string | null
  readonly error: string
  readonly tries: number
  readonly firstAt: number
  readonly lastAt: number
}

/** A row that was not tried for this long no longer exists, or no node tries it any more. */
const STALE_MINUTES = 10

/** Returns the rows that are currently rejected, of a project or of none in particular, latest first. */
export const refusedNow = ({ projectId, limit }: { projectId: string; limit: number }) => sql<RefusedRow>`
  select r.operation, r.task_id as "taskId", (select coalesce(name, key) from task where id = r.task_id) as "taskName", r.run_id as "runId",
         r.error, r.tries, r.first_at as "firstAt", r.last_at as "lastAt"
  from refused_row r
  where r.settled_at is null and r.last_at > now() - ${STALE_MINUTES}::integer * interval '1 minute'
    and (r.project_id is null or r.project_id = ${projectId})
  order by r.last_at desc limit ${limit}`

export const deleteOldRefusedRows = (olderThanDays: number) => sql`
  delete from refused_row where last_at < now() - make_interval(days => ${olderThanDays}::integer)`
