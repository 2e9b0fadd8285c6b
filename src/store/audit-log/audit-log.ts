/** The audit log: entries are appended in the transaction of the change they record, and read in pages, latest first. */
import type { AuditAction, AuditSubject } from '../../core/audit-log/audit-action.ts'
import { type EntryRow, INSTALLATION_ID } from '../../core/audit-log/audit-entry.ts'
import { leastUuidAt } from '../../core/ids.ts'
import { keepingPlan, list, type Part, part, sql } from '../database/sql.ts'

/** Who made the change, in which project, by which request, and why. */
export interface EntryOrigin {
  readonly projectId: string
  readonly actorKind: string
  readonly actorId: string | null
  readonly actorName: string | null
  readonly address: string | null
  readonly requestId: string | null
  readonly reason: string | null
}

/** An entry to append. */
export interface NewEntry extends EntryOrigin {
  readonly action: AuditAction
  readonly subjectKind: AuditSubject
  readonly subjectId: string | null
  readonly subjectName: string | null
  readonly count: number
  /** JSON text. */
  readonly before: string | null
  readonly after: string | null
}

/**
 * The time of writing: a row of `at` and the first part of the entry ids. Ids are UUIDv7 whose 12 bits after the version hold
 * the fraction of the millisecond, as RFC 9562 allows, so that the order of ids is the order of time.
 */
export const entryTime = part`
  select at, overlay(overlay(encode(
           substring(int8send(floor(extract(epoch from at) * 1000)::bigint) from 3)
           || int2send((28672 + (extract(epoch from at) * 1000000)::bigint % 1000 * 4096 / 1000)::smallint), 'hex')
         placing '-' from 13 for 0) placing '-' from 9 for 0) || '-' as prefix
  from (select clock_timestamp() as at) now`

/** The id of an entry written at the time `c`. */
const entryId = part`(c.prefix || substr(gen_random_uuid()::text, 20))::uuid`

/**
 * The id of entry number `n` (1 to 16 384) about an object with a random UUID `id`, whose last part it uses: because the ids
 * are in the order of their numbers, entries are appended to the indexes instead of being scattered over their last pages.
 */
export const numberedEntryId = part`(c.prefix || to_hex(32767 + n) || substr(id::text, 24))::uuid`

export const appendEntries = (entries: readonly NewEntry[]) =>
  keepingPlan(
    sql`
  insert into audit_entry (id, at, project_id, actor_kind, actor_id, actor_name, address, request_id, reason,
                           action, subject_kind, subject_id, subject_name, count, before, after)
  select ${entryId}, c.at, i.*
  from unnest(
    ${list(entries, (e) => e.projectId)}::uuid[], ${list(entries, (e) => e.actorKind)}::text[], ${list(entries, (e) => e.actorId)}::text[],
    ${list(entries, (e) => e.actorName)}::text[], ${list(entries, (e) => e.address)}::text[], ${list(entries, (e) => e.requestId)}::uuid[],
    ${list(entries, (e) => e.reason)}::text[], ${list(entries, (e) => e.action)}::text[], ${list(entries, (e) => e.subjectKind)}::text[],
    ${list(entries, (e) => e.subjectId)}::text[], ${list(entries, (e) => e.subjectName)}::text[], ${list(entries, (e) => e.count)}::integer[],
    ${list(entries, (e) => e.before)}::json[], ${list(entries, (e) => e.after)}::json[]) as i
  cross join lateral (${entryTime}) c`,
    'always',
  )

/** Which entries to read. */
export interface EntryQuery {
  /** A project, or the installation itself; null for all. */
  readonly projectId: string | null
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly subjectKind?: string | undefined
  readonly subject?: string | undefined
  /** Instants in epoch milliseconds; `to` is not included. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Only entries with a lower id. */
  readonly before?: string | undefined
  readonly limit: number
  /** Maximum number of entries to examine per project. */
  readonly maxExamined: number
}

/** Columns of an entry `e`. */
export const entryColumns = part`
  e.id, e.at, e.project_id as "projectId", (select name from project where id = e.project_id) as "projectName",
  e.actor_kind as "actorKind", e.actor_id as "actorId", e.actor_name as "actorName", e.address, e.request_id as "requestId",
  e.action, e.subject_kind as "subjectKind", e.subject_id as "subjectId", e.subject_name as "subjectName", e.count,
  e.before, e.after, e.reason`

/**
 * Returns the latest entries that match. One filter uses its index; the others are applied to the entries found through it, of
 * which at most `maxExamined` are examined.
 */
export const listEntries = (q: EntryQuery) => sql<EntryRow>`
  select ${entryColumns} from ${examined(q)} e
  where (${q.subject ?? null}::text is null or e.subject_id = ${q.subject ?? null})
    and (${q.actor ?? null}::text is null or e.actor_id = ${q.actor ?? null})
    and (${q.action ?? null}::text is null or e.action = ${q.action ?? null})
    and (${q.subjectKind ?? null}::text is null or e.subject_kind = ${q.subjectKind ?? null})
  order by e.id desc limit ${q.limit}`

/** Returns the entry at which a search that found less than a page stopped; no row if it has examined everything. */
export const lastExaminedEntry = (q: EntryQuery) => sql<{ id: string }>`
  select max(id::text)::uuid as id from (
    select project_id, min(id::text) as id, count(*) as entries from ${examined(q)} e group by project_id
  ) p
  where entries = ${examinedAtMost(q)}
  having count(*) > 0`

/** The latest entries of each requested project, up to the limit; the entries of one project are in order. */
const examined = (q: EntryQuery) =>
  q.projectId === null
    ? part`(select found.* from ${everywhere} cross join lateral (${latestOf(q, part`scope.id`)}) found)`
    : part`(${latestOf(q, part`${q.projectId}::uuid`)})`

const latestOf = (q: EntryQuery, project: Part) => part`
    select * from audit_entry
    where project_id = ${project} ${byIndex(q)}
      and id >= ${leastUuidAt(q.from ?? 0)}::uuid
      and id < least(${q.to === undefined ? GREATEST_ID : leastUuidAt(q.to)}::uuid, ${q.before ?? GREATEST_ID}::uuid)
    order by id desc limit ${examinedAtMost(q)}`

const GREATEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Actions that the index of actions does not cover. */
const FREQUENT: ReadonlySet<string> = new Set(['task.create', 'task.trigger'])

/** The filter that an index serves. */
function byIndex({ subject, actor, action }: EntryQuery) {
  if (subject !== undefined) return part`and subject_id = ${subject}`
  if (actor !== undefined) return part`and actor_id = ${actor}`
  if (action === undefined || FREQUENT.has(action)) return part``
  return part`and action = ${action} and action not in ('task.create', 'task.trigger')`
}

/** Number of entries to examine: one page if the index serves every filter. */
function examinedAtMost({ subject, actor, action, subjectKind, limit, maxExamined }: EntryQuery): number {
  const filters = [subject, actor, action, subjectKind].filter((filter) => filter !== undefined)
  const isIndexed =
    subject !== undefined || actor !== undefined || (action !== undefined && !FREQUENT.has(action))
  return filters.length <= (isIndexed ? 1 : 0) ? limit : maxExamined
}

/** All projects, and the installation itself, as rows of `scope`. */
const everywhere = part`(
    select id from project
    union all
    select ${INSTALLATION_ID}::uuid
  ) scope`

/** Returns an entry by its id, of one project or of any. */
export const findEntry = ({ projectId, id }: { projectId: string | null; id: string }) => sql<EntryRow>`
  select ${entryColumns} from ${everywhere}
  cross join lateral (select * from audit_entry where project_id = scope.id and id = ${id}) e
  where ${projectId}::uuid is null or scope.id = ${projectId}::uuid`
