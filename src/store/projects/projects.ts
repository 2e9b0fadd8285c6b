/** Projects and their settings, which apply to all of their tasks. */
import type { MailSettings } from '../../core/action/mail-settings.ts'
import type { ProjectLimits } from '../../core/limits/limits.ts'
import type { Retention } from '../../core/values/retention.ts'
import { list, part, sql } from '../database/sql.ts'

/** Which private networks the calls of a project may reach; null for all that the installation allows. */
export interface ProjectNetwork {
  readonly allowedPrivate: readonly string[] | null
}

/** What can be set for a project. */
export interface ProjectSettings extends ProjectLimits, MailSettings, ProjectNetwork, Retention {}

/** A project and its settings. */
export interface ProjectRow extends ProjectSettings {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly archivedAt: number | null
}

/** A project, with what a request about it needs. */
export interface KnownProject {
  readonly id: string
  readonly name: string
  readonly isArchived: boolean
  readonly requestRate: string | null
}

const known = part`id, name, archived_at is not null as "isArchived", request_rate as "requestRate"`

export const knownProjects = (ids: readonly string[]) => sql<KnownProject>`
  select ${known} from project where id = any(${list(ids, (id) => id)}::uuid[])`

export const knownProjectByName = (name: string) => sql<KnownProject>`
  select ${known} from project where name = ${name}`

const columns = part`
  id, name, min_period_ms::float8 as "minPeriodMs", max_ahead_ms::float8 as "maxAheadMs",
  request_rate as "requestRate", max_payload_bytes as "maxPayloadBytes", run_rate as "runRate", max_running as "maxRunning",
  max_tasks as "maxTasks", max_stored_bytes::float8 as "maxStoredBytes", mail_from as "mailFrom",
  mail_reply_to as "mailReplyTo", mail_server as "mailServer", allowed_private as "allowedPrivate", history_days as "historyDays",
  audit_log_days as "auditLogDays", created_at as "createdAt", archived_at as "archivedAt"`

export const readProject = (id: string) => sql<ProjectRow>`select ${columns} from project where id = ${id}`

/** Settings of a project that nodes apply to its outgoing calls. */
export interface OutgoingSettings extends ProjectNetwork {
  readonly id: string
  readonly mailServer: string | null
}

/** Returns the projects that restrict private networks or have their own mail server. */
export const outgoingSettings = () => sql<OutgoingSettings>`
  select id, allowed_private as "allowedPrivate", mail_server as "mailServer" from project
  where allowed_private is not null or mail_server is not null`

/** Which projects to list, ordered by name. */
export interface ProjectQuery {
  /** The projects in which the caller has a role; null for all. */
  readonly ids: readonly string[] | null
  readonly isArchived: boolean
  /** A part of the name. */
  readonly q: string | null
  readonly after: string | null
  readonly limit: number
}

export const listProjects = ({ ids, isArchived, q, after, limit }: ProjectQuery) => sql<ProjectRow>`
  select ${columns} from project
  where (${ids === null}::boolean or id = any(${list(ids ?? [], (id) => id)}::uuid[])) and (archived_at is not null) = ${isArchived}::boolean
    and (${q}::text is null or position(${q}::text in name) > 0) and (${after}::text is null or name > ${after}::text collate "C")
  order by name collate "C" limit ${limit}`

/** Inserts a project. No row if the maximum number is reached. A name that is already in use violates `project_name_key`. */
export const insertProject = ({ id, name, maxProjects }: { id: string; name: string; maxProjects: number }) =>
  sql<{ id: string }>`
  insert into project (id, name)
  select ${id}::uuid, ${name} where (select count(*) from project) < ${maxProjects}::integer
  returning id`

/** Archives a project; its tasks are paused by a sweep. No row if it is already archived or does not exist. */
export const markProjectArchived = (id: string) => sql<{ archivedAt: number }>`
  update project set archived_at = now(), sweep = 'silence', sweep_after = null, sweep_left_some = false where id = ${id} and archived_at is null
  returning archived_at as "archivedAt"`

/** Restores a project; its tasks are resumed by a sweep. */
export const markProjectRestored = (id: string) => sql<{ id: string }>`
  update project set archived_at = null, sweep = 'restore', sweep_after = null, sweep_left_some = false where id = ${id} and archived_at is not null
  returning id`

/** Returns the project if it is archived, and keeps it from being restored until the transaction ends. */
export const holdArchived = (id: string) => sql<{ id: string }>`
  select id from project where id = ${id} and archived_at is not null for share`

export const namesOfProjects = (ids: readonly string[]) => sql<{ id: string; name: string }>`
  select id, name from project where id = any(${list(ids, (id) => id)}::uuid[])`

export const mailSettingsOf = (id: string) => sql<MailSettings>`
  select mail_from as "mailFrom", mail_reply_to as "mailReplyTo", mail_server as "mailServer" from project where id = ${id}`

/** Locks a project against concurrent changes, but not against inserts of tasks that refer to it. */
export const lockProject = (id: string) => sql`select from project where id = ${id} for no key update`

/** Changes the given settings. A combination of limits that allows nothing violates a constraint. */
export const editProject = (id: string, edit: Partial<ProjectSettings>) => sql<{ id: string }>`
  update project set
    min_period_ms = case when ${edit.minPeriodMs !== undefined}::boolean then ${edit.minPeriodMs ?? null}::bigint else min_period_ms end,
    max_ahead_ms = case when ${edit.maxAheadMs !== undefined}::boolean then ${edit.maxAheadMs ?? null}::bigint else max_ahead_ms end,
    request_rate = case when ${edit.requestRate !== undefined}::boolean then ${edit.requestRate ?? null} else request_rate end,
    max_payload_bytes = case when ${edit.maxPayloadBytes !== undefined}::boolean then ${edit.maxPayloadBytes ?? null}::integer else max_payload_bytes end,
    run_rate = case when ${edit.runRate !== undefined}::boolean then ${edit.runRate ?? null} else run_rate end,
    max_running = case when ${edit.maxRunning !== undefined}::boolean then ${edit.maxRunning ?? null}::integer else max_running end,
    max_tasks = case when ${edit.maxTasks !== undefined}::boolean then ${edit.maxTasks ?? null}::integer else max_tasks end,
    max_stored_bytes = case when ${edit.maxStoredBytes !== undefined}::boolean then ${edit.maxStoredBytes ?? null}::bigint else max_stored_bytes end,
    mail_from = case when ${edit.mailFrom !== undefined}::boolean then ${edit.mailFrom ?? null} else mail_from end,
    mail_reply_to = case when ${edit.mailReplyTo !== undefined}::boolean then ${edit.mailReplyTo ?? null} else mail_reply_to end,
    mail_server = case when ${edit.mailServer !== undefined}::boolean then ${edit.mailServer ?? null} else mail_server end,
    allowed_private = case when ${edit.allowedPrivate !== undefined}::boolean then ${edit.allowedPrivate ?? null}::text[] else allowed_private end,
    history_days = case when ${edit.historyDays !== undefined}::boolean then ${edit.historyDays ?? null}::integer else history_days end,
    audit_log_days = case when ${edit.auditLogDays !== undefined}::boolean then ${edit.auditLogDays ?? null}::integer else audit_log_days end
  where id = ${id}
  returning id`
