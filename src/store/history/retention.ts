/** Deleting what projects keep for a shorter time than the partitions are kept: history, and entries of the audit log. */
import { sql } from '../database/sql.ts'

/** The days for which history is kept that is not kept by project: the longest that any project or the node asks for. */
export const longestHistory = (days: number) => sql<{ days: number }>`select longest_history(${days}) as days`

/** What one step has deleted. */
export interface Deleted {
  readonly deleted: number
  readonly hasMore: boolean
}

/** Deletes old history of projects from the next few pages of a partition. `days` is for projects that say nothing. */
export const deleteOldHistory = ({ days, maxPages }: { days: number; maxPages: number }) => sql<Deleted>`
  select deleted, has_more as "hasMore" from delete_old_history(${days}, ${maxPages})`

/** Deletes old entries of one project, or of the installation, from its part of the audit log. */
export const deleteOldEntries = ({ days, maxEntries }: { days: number; maxEntries: number }) => sql<Deleted>`
  select deleted, has_more as "hasMore" from delete_old_audit_entries(${days}, ${maxEntries})`

/** Up to when a project has lost what others still keep; no row for one that has lost nothing. */
export const deletedBefore = (projectId: string) => sql<{ history: number; auditLog: number }>`
  select history_from as history, audit_log_from as "auditLog" from retention where project_id = ${projectId}`

/** The same for all projects and the installation: the newest of these instants. Nothing was deleted of a project created later. */
export const deletedBeforeOfAll = () => sql<{ history: number | null; auditLog: number | null }>`
  select max(r.history_from) filter (where p.created_at < r.history_from) as history,
         max(r.audit_log_from) filter (where p.id is null or p.created_at < r.audit_log_from) as "auditLog"
  from retention r left join project p on p.id = r.project_id`

/** From when on the history of a project is complete, and when the project was created: nothing ended in it before. */
export const historyKept = (projectId: string) => sql<Kept>`
  select history_begin(id) as begin, created_at as "createdAt" from project where id = ${projectId}`

/** The same for its audit log. */
export const auditLogKept = (projectId: string) => sql<Kept>`
  select greatest(
           (select min(to_date(right(c.relname, 6), 'YYYYMM')::timestamp at time zone 'UTC')
            from pg_inherits i join pg_class c on c.oid = i.inhrelid
            where i.inhparent = 'audit_entry'::regclass and c.relname <> 'audit_entry_other'),
           (select audit_log_from from retention where project_id = p.id)) as begin,
         p.created_at as "createdAt"
  from project p where p.id = ${projectId}`

/** What is kept of a project. */
export interface Kept {
  readonly begin: number | null
  readonly createdAt: number
}
