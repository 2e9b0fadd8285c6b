/** Inserts tasks with their first occurrences. */
import { fileIdsOf } from '../../core/action/action-files.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { type EntryOrigin, entryTime, numberedEntryId } from '../audit-log/audit-log.ts'
import { jsonList, keepingPlan, list, part, sql } from '../database/sql.ts'
import { type FileUse, fileUses } from '../files/uses.ts'
import { type SecretUse, secretUses } from '../secrets/uses.ts'
import type { RememberedAnswer } from './answers.ts'
import { briefForm, storedForm } from './stored-definition.ts'

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
