/** Replaces the definition of a task with a new version. */
import type { TaskDefinition } from '../../core/task/task.ts'
import { sql } from '../database/sql.ts'
import { briefForm, storedForm } from './stored-definition.ts'

/** The new state of a task. */
export interface RedefinedTask {
  readonly id: string
  readonly key: string | null
  readonly name: string | null
  readonly owner: string | null
  readonly tags: readonly string[]
  readonly definition: TaskDefinition
}

/**
 * Replaces the definition and keeps the old one for the runs that belong to it. The version ends at the instant that the edit takes for now,
 * because a one-off that it sets to now is compared with it; the transaction may have begun earlier and waited for the task.
 */
export function replaceDefinition(edit: RedefinedTask, now: number) {
  const stored = storedForm(edit.definition)
  return sql<{ version: number; updatedAt: number }>`
  with kept as (
    insert into task_version (task_id, version, definition, brief, key, name, owner, tags, replaced_at)
    select id, version, definition, brief, key, name, owner, tags, to_timestamp(${now}::float8 / 1000) from task where id = ${edit.id}
  )
  update task set version = version + 1, updated_at = now(), definition = ${stored}::json, 
    brief = (${briefForm(stored, 0)}::jsonb || jsonb_build_object('version', version + 1))::json,
    action_type = ${edit.definition.action.type}, key = ${edit.key}, name = ${edit.name}, owner = ${edit.owner},
    tags = ${edit.tags}::text[]
  where id = ${edit.id} returning version, updated_at as "updatedAt"`
}

/**
 * Stores the last instant whose occurrence belongs to a replaced version. Earlier versions end no later: if an edit changed
 * nothing but a name, an earlier version may have kept the future occurrences.
 */
export const endVersion = ({
  taskId,
  version,
  until,
}: {
  taskId: string
  version: number
  until: number
}) => sql`
  update task_version set due_until = to_timestamp(${until}::float8 / 1000)
  where task_id = ${taskId} and (version = ${version} or version < ${version} and due_until > to_timestamp(${until}::float8 / 1000))`
