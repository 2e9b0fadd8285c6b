/** Tasks as rows: finds them, and derives their states. */
import type { TaskDefinition, TaskState } from '../../core/task/task.ts'
import { MAX_PAGE_BYTES, type PageRow } from '../database/page-bytes.ts'
import { list, part, reading, sql } from '../database/sql.ts'
import { withDefinitions } from './stored-definition.ts'

/** The run of a task that is pending, running or retrying, if there is one. */
export interface OpenRun {
  readonly id: string
  readonly state: 'pending' | 'running' | 'retrying'
  readonly scheduledFor: number
  readonly attempt: number
  readonly losses: number
}

/** A task as read, with what follows from its live rows. */
export interface TaskRow extends PageRow {
  readonly id: string
  readonly projectId: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: readonly string[]
  readonly version: number
  readonly definition: TaskDefinition
  readonly createdAt: number
  readonly updatedAt: number
  readonly pausedAt: number | null
  readonly pauseReason: string | null
  readonly resumeAt: number | null
  readonly skipUntil: number | null
  readonly skipReason: string | null
  readonly cancelledAt: number | null
  readonly deletedAt: number | null
  readonly state: TaskState
  /** When the next occurrence is due. */
  readonly nextAt: number | null
  readonly openRun: OpenRun | null
}

/**
 * Selects tasks of a project, newest first. The state of a task is derived from its live rows, which are found through an
 * index; nothing about runs is stored on the task.
 */
export interface TaskQuery {
  readonly projectId: string
  readonly id?: string | undefined
  readonly ids?: readonly string[] | undefined
  readonly key?: string | undefined
  /**
   * A state that cannot be determined from the task row also needs `ids`, the tasks that may be in it: see task-walk.ts and
   * active-tasks.ts.
   */
  readonly state?: TaskState | undefined
  readonly type?: string | undefined
  readonly tag?: string | undefined
  readonly owner?: string | undefined
  /** Part of the name or key, ignoring case. */
  readonly text?: string | undefined
  /** Only tasks with a lower id. */
  readonly before?: string | undefined
  readonly limit: number
}

/** Returns tasks with their definitions, as many as a page may hold. */
export const findTasks = (q: TaskQuery) =>
  reading(
    sql<TaskRow>`
      select * from (
        select found.*, lead(true, 1, false) over by_id as "hasNext",
               coalesce(sum(definition_bytes(definition, brief, version)) over (by_id rows between unbounded preceding and 1 preceding), 0) as bytes_before
        from (${tasksFound(q)}) found
        window by_id as (order by id desc)
      ) page
      where bytes_before <= ${MAX_PAGE_BYTES}::integer
      order by id desc`,
    withDefinitions,
  )

/**
 * The tasks that a query selects, each with its state. A task that was created paused is recorded up to just before its creation if it was
 * due then; it was nevertheless not changed before.
 */
export const tasksFound = (q: TaskQuery) => part`
  select t.id, t.project_id as "projectId", t.key, t.name, t.owner, t.tags, t.version, t.definition, t.brief,
         t.created_at as "createdAt", greatest(t.updated_at, t.created_at) as "updatedAt", t.paused_at as "pausedAt",
         t.pause_reason as "pauseReason", t.resume_at as "resumeAt", t.skip_until as "skipUntil", t.skip_reason as "skipReason",
         t.cancelled_at as "cancelledAt", t.deleted_at as "deletedAt", derived.state, live.next_at as "nextAt", open.run as "openRun"
  from (
    select * from task
    where ${isAskedFor(q)}
      and (${q.id ?? null}::uuid is null or id = ${q.id ?? null}::uuid)
      and (${q.ids === undefined ? null : list(q.ids, (id) => id)}::uuid[] is null or id = any(${q.ids === undefined ? null : list(q.ids, (id) => id)}::uuid[]))
      and (${q.key ?? null}::text is null or key = ${q.key ?? null})
    order by id desc
    limit ${q.ids?.length ?? q.limit}
  ) t
  cross join lateral (
    select min(scheduled_for) filter (where state = 'scheduled' and kind = 'occurrence') as next_at,
           coalesce(bool_or(state = 'running'), false) as running,
           coalesce(bool_or(state in ('pending', 'retrying', 'held', 'deferred') or (state = 'scheduled' and kind not in ('occurrence', 'resume', 'skip'))), false) as waiting
    from agenda where task_id = t.id
  ) live
  cross join lateral (
    select case
      when t.cancelled_at is not null then 'cancelled'
      when t.paused_at is not null then 'paused'
      when live.running then 'running'
      when live.waiting then 'pending'
      when live.next_at is not null or definition_in_brief(t.definition, t.brief, t.version) -> 'schedule' ->> 'type' = 'manual' then 'scheduled'
      else 'finished' end as state
  ) derived
  left join lateral (
    select jsonb_build_object('id', run_id, 'state', case when state in ('scheduled', 'held', 'deferred') then 'pending' else state::text end, 'attempt', attempt,
                              'losses', losses, 'scheduledFor', floor(extract(epoch from scheduled_for) * 1000)) as run
    from agenda where task_id = t.id and (state <> 'scheduled' or kind not in ('occurrence', 'resume', 'skip'))
    order by scheduled_for desc limit 1
  ) open on true
  where ${q.state ?? null}::text is null or derived.state = ${q.state ?? null}
  order by t.id desc
  limit ${q.limit}`

/** The conditions of a query on the task row. Paused and cancelled tasks have their own indexes. */
export const isAskedFor = (q: Omit<TaskQuery, 'id' | 'ids' | 'key' | 'limit'>) => part`
  project_id = ${q.projectId} and deleted_at is null ${STATES_OF_A_TASK[q.state ?? ''] ?? part``}
    and (${q.type ?? null}::text is null or action_type = ${q.type ?? null})
    and (${q.tag ?? null}::text is null or tags @> array[${q.tag ?? null}::text])
    and (${q.owner ?? null}::text is null or owner = ${q.owner ?? null})
    and (${q.text ?? null}::text is null
         or position(lower(${q.text ?? null}) in lower(coalesce(name, '') || ' ' || coalesce(key, ''))) > 0)
    and (${q.before ?? null}::uuid is null or id < ${q.before ?? null}::uuid)`

const STATES_OF_A_TASK: Readonly<Record<string, ReturnType<typeof part>>> = {
  paused: part`and paused_at is not null and cancelled_at is null`,
  cancelled: part`and cancelled_at is not null`,
}
