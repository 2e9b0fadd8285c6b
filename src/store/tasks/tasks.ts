/** Tasks as rows: inserts and finds them, and derives their states. */
import { fileIdsOf } from '../../core/action/action-files.ts'
import type { TaskDefinition, TaskState } from '../../core/task/task.ts'
import { type EntryOrigin, entryTime, numberedEntryId } from '../audit-log/audit-log.ts'
import { MAX_PAGE_BYTES, type PageRow } from '../database/page-bytes.ts'
import { jsonList, keepingPlan, list, part, reading, sql } from '../database/sql.ts'
import { type FileUse, fileUses } from '../files/uses.ts'
import { type SecretUse, secretUses } from '../secrets/secrets.ts'
import { briefForm, storedForm, withDefinitions } from './stored-definition.ts'

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

/** A task to insert, with its first occurrence. */
export interface NewTask {
  readonly id: string
  readonly projectId: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: readonly string[]
  readonly definition: TaskDefinition
  readonly createdAt: number
  readonly shard: number
  readonly lane: number
  /** The first occurrence, or null when the task only runs when triggered, or is paused. */
  readonly first: FirstRow | null
  readonly pause?: FirstPause | null
}

/** The pause that a task begins with. */
export interface FirstPause {
  readonly reason: string | null
  /** It lasts until files that the task names are there, rather than until somebody resumes it. */
  readonly awaitsFiles: boolean
  /** Up to here nothing was due that it did not run. */
  readonly recordedUntil: number
}

/** The first row of a task in the agenda. */
export interface FirstRow {
  readonly runId: string
  readonly at: number
  readonly delayMs: number | null
  /** Its jitter, if it has any. */
  readonly jitterMs?: number | null
}

/** A response to store under an Idempotency-Key. */
export interface RememberedAnswer {
  readonly key: string
  readonly fingerprint: Buffer
  readonly status: number
  /** The body as JSON text, stored as a JSON string: as jsonb it would be returned with its members in another order. */
  readonly answer: string
}

/** Tasks to insert together. */
export interface TasksToInsert {
  readonly tasks: readonly NewTask[]
  readonly remember: RememberedAnswer | null
  /** Who creates them, for the audit log. */
  readonly origin: EntryOrigin
}

/**
 * Inserts any number of tasks with their first occurrences and their entries in the audit log, together with the response that
 * a repetition of the request will get. If the key is already in use, nothing is inserted and `stored` is 0; a concurrent
 * request with the same key waits here until the first one has committed. The project is locked as a foreign key would lock it,
 * but once for all tasks; if it does not exist, nothing is inserted, because a task must have a project.
 */
export function insertTasks({ tasks, remember, origin }: TasksToInsert) {
  const { projectId } = origin
  const forms = tasks.map(({ definition }) => storedForm(definition))
  const uses = usesOf(tasks)
  const files = fileUsesOf(tasks)
  const pauses = tasks.some(({ pause }) => pause) ? pausesOf(tasks) : NO_PAUSES
  const statement = sql<{ stored: number }>`
    with remembered as (
      insert into idempotency (project_id, key, fingerprint, status, answer)
      select ${projectId}::uuid, ${remember?.key ?? null}, ${remember?.fingerprint ?? null}::bytea,
             ${remember?.status ?? null}::integer, ${remember ? JSON.stringify(remember.answer) : null}::jsonb
      where ${remember !== null}::boolean
      on conflict do nothing
      returning 1
    ), input as materialized (
      select * from unnest(
        ${list(tasks, (t) => t.id)}::uuid[], ${list(tasks, (t) => t.key)}::text[], ${list(tasks, (t) => t.name)}::text[], ${list(tasks, (t) => t.owner)}::text[], ${list(tasks, (t) => list(t.tags, (tag) => tag))}::text[], ${list(tasks, (t) => t.definition.action.type)}::text[],
        ${jsonList(forms, (form) => form)}::json[], ${list(forms, (form) => briefForm(form, 1))}::json[], ${list(tasks, (t) => t.createdAt)}::float8[], ${list(tasks, (t) => t.shard)}::smallint[], ${list(tasks, (t) => t.lane)}::bigint[], ${list(tasks, (t) => t.definition.priority)}::smallint[], ${list(tasks, (t) => t.first?.runId ?? null)}::uuid[], ${list(tasks, (t) => t.first?.at ?? null)}::float8[],
        ${list(tasks, (t) => t.first?.delayMs ?? null)}::bigint[], ${list(tasks, (t) => t.first?.jitterMs ?? null)}::integer[]${pauses.values})
        with ordinality as i(id, key, name, owner, tags, type, definition, brief, created_ms, shard, lane, priority, run_id, due_ms, delay_ms, jitter_ms${pauses.names}, n)
      where not ${remember !== null}::boolean or exists (select from remembered)
    ), stored as (
      insert into task (id, project_id, key, name, owner, action_type, tags, definition, brief, created_at, updated_at${pauses.columns})
      select id, (select id from project where id = ${projectId} for key share), key, name, owner, type, tags::text[], definition, brief,
             to_timestamp(created_ms / 1000), ${pauses.stored}
      from input
      returning 1
    )${pauses.noted}, scheduled as (
      insert into agenda (run_id, task_id, project_id, shard, lane, priority, wake_at, scheduled_for, version, ordinal, delay_ms, jitter_ms)
      select run_id, id, ${projectId}::uuid, shard, lane, priority, to_timestamp((due_ms + coalesce(jitter_ms, 0)) / 1000), to_timestamp(due_ms / 1000), 1, 1, delay_ms, jitter_ms
      from input where run_id is not null
    ), c as materialized (${entryTime}), recorded as (
      insert into audit_entry (id, at, project_id, actor_kind, actor_id, actor_name, address, request_id, reason,
                               action, subject_kind, subject_id, subject_name, after)
      select ${numberedEntryId}, c.at, ${projectId}::uuid, ${origin.actorKind}, ${origin.actorId}, ${origin.actorName}, ${origin.address},
             ${origin.requestId}::uuid, ${origin.reason}, 'task.create', 'task', input.id::text, coalesce(input.name, input.key), ${pauses.told}
      from input cross join c
    )${uses.length === 0 ? part`` : part`, ${secretUses(projectId, uses)}`}${files.length === 0 ? part`` : part`, ${fileUses(projectId, files)}`}
    select count(*)::integer as stored from stored`
  // The statement only inserts, so its plan is the same for any number of tasks.
  return keepingPlan(statement, 'always')
}

/** The pauses that tasks begin with, as parts of the statement; without any it says nothing of them. */
const pausesOf = (tasks: readonly NewTask[]) => ({
  values: part`, ${list(tasks, (t) => t.pause?.recordedUntil ?? null)}::float8[], ${list(tasks, (t) => t.pause?.reason ?? null)}::text[], ${list(tasks, (t) => t.pause?.awaitsFiles ?? false)}::boolean[]`,
  names: part`, recorded_ms, pause_reason, awaits_files`,
  columns: part`, paused_at, pause_reason, awaits_files`,
  stored: part`to_timestamp(coalesce(recorded_ms, created_ms) / 1000),
             case when recorded_ms is not null then to_timestamp(created_ms / 1000) end, pause_reason, awaits_files`,
  noted: part`, paused as (
      insert into task_pause (task_id, paused_at, reason)
      select id, to_timestamp(created_ms / 1000), pause_reason from input where recorded_ms is not null
    )`,
  told: part`case when recorded_ms is null or awaits_files then '{"version":1}'::jsonb else '{"version":1,"paused":true}' end`,
})

const NO_PAUSES: ReturnType<typeof pausesOf> = {
  values: part``,
  names: part``,
  columns: part``,
  stored: part`to_timestamp(created_ms / 1000)`,
  noted: part``,
  told: part`'{"version":1}'`,
}

/** Returns the secrets that tasks refer to; most refer to none. */
const usesOf = (tasks: readonly NewTask[]): SecretUse[] =>
  tasks.flatMap(({ id: taskId, definition: { secrets } }) => (secrets ? { taskId, names: secrets } : []))

/** Returns the files that tasks refer to; only programs refer to any. */
const fileUsesOf = (tasks: readonly NewTask[]): FileUse[] =>
  tasks.flatMap(({ id: taskId, definition: { action } }) => {
    const fileIds = action.type === 'exec' ? fileIdsOf(action) : []
    return fileIds.length === 0 ? [] : { taskId, fileIds }
  })

/** Stores a response within a transaction; no row if the key already has one. */
export const rememberAnswer = (
  projectId: string,
  { key, fingerprint, status, answer }: RememberedAnswer,
) => sql<{ key: string }>`
  insert into idempotency (project_id, key, fingerprint, status, answer)
  values (${projectId}, ${key}, ${fingerprint}, ${status}, ${JSON.stringify(answer)}::jsonb)
  on conflict do nothing
  returning key`

export const rememberedAnswer = (projectId: string, key: string) =>
  sql<{
    fingerprint: Buffer
    status: number
    answer: string
  }>`select fingerprint, status, answer from idempotency where project_id = ${projectId} and key = ${key}`

export const deleteOldAnswers = (olderThanHours: number) => sql`
  delete from idempotency where created_at < now() - make_interval(hours => ${olderThanHours}::integer)`

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
