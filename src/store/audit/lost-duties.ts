/** Finds tasks that lack their `resume` or `skip` row. */
import type { TaskDefinition } from '../../core/task/task.ts'
import { elements, reading, sql } from '../database/sql.ts'
import { withDefinitions } from '../tasks/stored-definition.ts'
import { NO_ID } from './audit.ts'

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
