/** Projects: what is decided for all tasks of one. */
import { sql } from '../database/sql.ts'

/** How often tasks may be due, and how far ahead; null: no limit of the project's own. */
export interface ProjectLimits {
  readonly minPeriodMs: number | null
  readonly maxAheadMs: number | null
}

/** Who sends messages, and who gets the answers, where a task does not say; null: as the server is set up. */
export interface ProjectSender {
  readonly mailFrom: string | null
  readonly mailReplyTo: string | null
}

/** A project, its limits and its sender. */
export interface ProjectRow extends ProjectLimits, ProjectSender {
  readonly id: string
  readonly name: string
  readonly createdAt: number
}

/** A project, as far as a request needs to know the one that it is about. */
export interface KnownProject {
  readonly id: string
  readonly name: string
  readonly isArchived: boolean
}

export const knownProject = (id: string) => sql<KnownProject>`
  select id, name, archived_at is not null as "isArchived" from project where id = ${id}`

export const knownProjectByName = (name: string) => sql<KnownProject>`
  select id, name, archived_at is not null as "isArchived" from project where name = ${name}`

export const readProject = (id: string) => sql<ProjectRow>`
  select id, name, min_period_ms::float8 as "minPeriodMs", max_ahead_ms::float8 as "maxAheadMs",
         mail_from as "mailFrom", mail_reply_to as "mailReplyTo", created_at as "createdAt"
  from project where id = ${id}`

export const senderOf = (id: string) => sql<ProjectSender>`
  select mail_from as "mailFrom", mail_reply_to as "mailReplyTo" from project where id = ${id}`

/** Makes others who change the project wait; tasks, which refer to it, do not. */
export const lockProject = (id: string) => sql`select from project where id = ${id} for no key update`

/** Sets what is named; the rest stays. Limits that together would leave no room violate a constraint. */
export const editProject = (id: string, edit: Partial<ProjectLimits & ProjectSender>) => sql<{ id: string }>`
  update project set
    min_period_ms = case when ${edit.minPeriodMs !== undefined}::boolean then ${edit.minPeriodMs ?? null}::bigint else min_period_ms end,
    max_ahead_ms = case when ${edit.maxAheadMs !== undefined}::boolean then ${edit.maxAheadMs ?? null}::bigint else max_ahead_ms end,
    mail_from = case when ${edit.mailFrom !== undefined}::boolean then ${edit.mailFrom ?? null} else mail_from end,
    mail_reply_to = case when ${edit.mailReplyTo !== undefined}::boolean then ${edit.mailReplyTo ?? null} else mail_reply_to end
  where id = ${id}
  returning id`
