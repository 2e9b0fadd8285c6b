import { Refusal } from '../../core/errors.ts'
import { changesBetween, type FieldChange } from '../../core/task/version-diff.ts'
import type { PageRow } from '../../store/database/page-bytes.ts'
import { type VersionRow, versionsOf } from '../../store/tasks/task-versions.ts'
import type { Context } from '../context.ts'
import { definedFields } from './defined-fields.ts'
import { getTask } from './read-tasks.ts'

/** A version, and its changes to the one before. */
export interface ComparedVersion extends PageRow {
  readonly row: VersionRow
  readonly changes: readonly FieldChange[]
}

/** Returns a page of versions, latest first, and one more if there are more. */
export async function listVersions(
  context: Context,
  { taskId, before, limit }: { taskId: string; before: number | null; limit: number },
): Promise<ComparedVersion[]> {
  await getTask(context, taskId)
  const rows = await context.db.run(versionsOf({ taskId, before, limit: limit + 1 }))
  // If the list was cut because of its size, the last version serves only to compare the one above it.
  const shown = rows.at(-1)?.hasNext && rows.length <= limit ? rows.slice(0, -1) : rows
  return shown.map((row, i) => {
    const previous = rows[i + 1]
    return { row, changes: changesOf(row, previous), hasNext: previous !== undefined }
  })
}

export async function getVersion(
  context: Context,
  { taskId, version }: { taskId: string; version: number },
): Promise<ComparedVersion> {
  const [found] = await listVersions(context, { taskId, before: version + 1, limit: 1 })
  if (found?.row.version === version) return found
  throw new Refusal('not_found', `Task ${taskId} has no version ${version}.`)
}

const changesOf = (row: VersionRow, previous: VersionRow | undefined): FieldChange[] =>
  previous === undefined
    ? []
    : changesBetween(definedFields(previous), definedFields(row, previous.definition.action))
