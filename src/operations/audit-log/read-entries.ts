/** Reading the audit log. */
import { type EntryRow, INSTALLATION_ID } from '../../core/audit-log/audit-entry.ts'
import { Refusal } from '../../core/errors.ts'
import { changesBetween, type FieldChange } from '../../core/task/version-diff.ts'
import {
  type EntryQuery,
  findEntry,
  lastExaminedEntry,
  listEntries,
} from '../../store/audit-log/audit-log.ts'
import type { Queryable } from '../../store/database/database.ts'
import { versionsOf } from '../../store/tasks/task-versions.ts'
import { requireAccess } from '../access/require.ts'
import type { Context } from '../context.ts'
import { definedFields } from '../tasks/defined-fields.ts'

/**
 * Maximum number of a project's entries that one page examines; with a filter that matches few of them, a search takes several
 * pages.
 */
const MAX_EXAMINED = 10_000

/** Which entries: those of the caller's project, of the installation itself, or of all projects and the installation. */
export type AuditScope = 'project' | 'installation' | 'all'

/** Which entries to read, newest first. */
export interface AuditQuery extends Omit<EntryQuery, 'projectId' | 'maxExamined'> {
  readonly scope: AuditScope
}

/** Returns the id of the project that a scope refers to; null for all. */
export function auditProjectOf(context: Context, scope: AuditScope): string | null {
  if (scope !== 'project') requireAccess(context, 'installation')
  return { project: context.projectId, installation: INSTALLATION_ID, all: null }[scope]
}

/** A page of entries. It may have fewer entries than the limit, even none, although more follow. */
export interface AuditPage {
  readonly rows: readonly EntryRow[]
  /** The id after which the next page begins; null if this is the last page. */
  readonly next: string | null
}

export async function readAuditLog(context: Context, { scope, ...query }: AuditQuery): Promise<AuditPage> {
  const { limit } = query
  const whose = auditProjectOf(context, scope)
  const asked = { ...query, projectId: whose, limit: limit + 1, maxExamined: MAX_EXAMINED }
  return context.db.snapshot(
    async (tx) => {
      const found = await tx.run(listEntries(asked))
      const isFull = found.length > limit && whose !== null
      const [end] = isFull ? [] : await tx.run(lastExaminedEntry(asked))
      const rows = cutAt(found, end?.id)
      if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]?.id ?? null }
      return { rows, next: end?.id ?? null }
    },
    { inOrder: true },
  )
}

/** Drops the entries older than `end`: only back to there was every project examined. The next page covers the rest. */
const cutAt = (rows: readonly EntryRow[], end: string | undefined): readonly EntryRow[] =>
  end === undefined ? rows : rows.filter(({ id }) => id >= end)

/** An entry, and the differences between its before and after. */
export interface ComparedEntry {
  readonly row: EntryRow
  readonly changes: readonly FieldChange[]
}

export async function getAuditEntry(
  context: Context,
  { id, scope }: { id: string; scope: AuditScope },
): Promise<ComparedEntry> {
  const { db } = context
  const [row] = await db.run(findEntry({ projectId: auditProjectOf(context, scope), id }))
  if (!row) throw new Refusal('not_found', `Audit log entry ${id} does not exist.`)
  return { row, changes: await changesOf(db, row) }
}

/**
 * Returns the changes of an entry. An entry about a task is compared through the stored versions of the task, which have the
 * full definitions.
 */
async function changesOf(
  db: Queryable,
  { subjectKind, subjectId, before, after }: EntryRow,
): Promise<FieldChange[]> {
  const version = versionIn(after)
  if (subjectKind !== 'task' || subjectId === null || version === null)
    return changesBetween(asObject(before), asObject(after))
  const [current, previous] = await db.run(versionsOf({ taskId: subjectId, before: version + 1, limit: 2 }))
  if (current?.version !== version) return []
  return versionIn(before) === null || previous === undefined
    ? changesBetween({}, definedFields(current))
    : changesBetween(definedFields(previous), definedFields(current, previous.definition.action))
}

const asObject = (value: unknown): object => (typeof value === 'object' && value !== null ? value : {})

function versionIn(value: unknown): number | null {
  const { version } = asObject(value) as { version?: unknown }
  return typeof version === 'number' ? version : null
}
