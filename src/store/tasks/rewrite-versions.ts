import type { TaskDefinition } from '../../core/task/task.ts'
import { list, sql } from '../database/sql.ts'
import { briefForm, storedForm } from './stored-definition.ts'

/** A version of a task, and its new definition. */
export interface RewrittenVersion {
  readonly version: number
  readonly definition: TaskDefinition
}

/** Replaces definitions of a task that the caller has locked, current and earlier ones, without creating a version. */
export function rewriteVersions(taskId: string, rewritten: readonly RewrittenVersion[]) {
  const forms = rewritten.map(({ version, definition }) => ({ version, form: storedForm(definition) }))
  return sql`
    with input as materialized (
      select * from unnest(
        ${list(forms, (f) => f.version)}::integer[], ${list(forms, (f) => f.form)}::json[], ${list(forms, (f) => briefForm(f.form, f.version))}::json[])
        as i(version, definition, brief)
    ), latest as (
      update task t set definition = i.definition, brief = i.brief
      from input i where t.id = ${taskId} and t.version = i.version
    )
    update task_version v set definition = i.definition, brief = i.brief
    from input i where v.task_id = ${taskId} and v.version = i.version`
}
