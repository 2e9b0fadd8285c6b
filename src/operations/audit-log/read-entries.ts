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

/** Entries of a project that one page looks at; a filter that leaves few of them needs several pages. */
const MAX_EXAMINED = 10_000

/** Whose entries: of the caller's project, of the installation itself, or of all projects and the installation. */
export type AuditScope = 'project' | 'installation' | 'all'

/** Which entries to read, in which order they came about backwards. */
export interface AuditQuery extends Omit<EntryQuery, 'projectId' | 'maxExamined'> {
  readonly scope: AuditScope
}

/** The project that a scope means; null for all. */
export function auditProjectOf(context: Context, scope: AuditScope): string | null {
  if (scope !== 'project') requireAccess(context, 'installation')
  return { project: context.projectId, installation: INSTALLATION_ID, all: null }[scope]
}

/** A page of entries. It may hold fewer than asked for, and even none, while there is more. */
export interface AuditPage {
  readonly rows: readonly EntryRow[]
  /** The id that the next page begins after; null when this was the last. */
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

/** Only so far back was every project looked at; what is older is left to the next page. */
const cutAt = (rows: readonly EntryRow[], end: string | undefined): readonly EntryRow[] =>
  end === undefined ? rows : rows.filter(({ id }) => id >= end)

/** An entry, and what differs between before and after. */
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

/** A task is told by its versions, which say themselves what they hold. */
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
