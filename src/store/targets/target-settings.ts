/** Settings of users for targets. A setting without any value has no row. */
import type { TargetSettings } from '../../core/target/target-state.ts'
import { part, sql } from '../database/sql.ts'

/** Every call to a new target examines all of them, so a project's number of settings is limited. */
export const MAX_TARGET_SETTINGS = 1_000

/** A setting and its project. */
export interface TargetSettingRow extends TargetSettings {
  readonly projectId: string
}

const columns = part`project_id as "projectId", pattern, call_limit as "limit", rate, burst, paused_at as "pausedAt", pause_reason as "pauseReason"`

/** Returns the settings of one project, or of all. */
export const readTargetSettings = (projectId: string | null = null) => sql<TargetSettingRow>`
  select ${columns} from target_setting where ${projectId}::uuid is null or project_id = ${projectId}::uuid
  order by project_id, pattern`

/** Inserts the row of a pattern, which the statements below update; no row if the project has reached the maximum number. */
export const makeTargetSetting = ({ projectId, pattern }: { projectId: string; pattern: string }) =>
  sql<TargetSettingRow>`
  insert into target_setting (project_id, pattern)
  select ${projectId}::uuid, ${pattern}
  where exists (select from target_setting where project_id = ${projectId}::uuid and pattern = ${pattern})
     or (select count(*) from target_setting where project_id = ${projectId}::uuid) < ${MAX_TARGET_SETTINGS}::integer
  on conflict (project_id, pattern) do update set updated_at = now()
  returning ${columns}`

/** A limit and a rate; an undefined value leaves the setting unchanged. */
export interface TargetLimits {
  readonly limit?: number | null | undefined
  readonly rate?: string | null | undefined
  readonly burst?: number | null | undefined
}

/** Sets limits. The burst is removed with its rate. */
export const setTargetLimits = ({
  projectId,
  pattern,
  limit,
  rate,
  burst,
}: TargetLimits & { projectId: string; pattern: string }) => sql`
  update target_setting set
    call_limit = case when ${limit !== undefined}::boolean then ${limit ?? null}::integer else call_limit end,
    rate = case when ${rate !== undefined}::boolean then ${rate ?? null}::text else rate end,
    burst = case when ${rate === null}::boolean then null when ${burst !== undefined}::boolean then ${burst ?? null}::integer else burst end
  where project_id = ${projectId} and pattern = ${pattern}`

/**
 * Pauses or resumes the targets that match a pattern. An existing pause keeps its beginning, and its reason unless another is
 * given.
 */
export const setTargetPaused = ({
  projectId,
  pattern,
  isPaused,
  reason,
}: {
  projectId: string
  pattern: string
  isPaused: boolean
  reason: string | null
}) => sql`
  update target_setting set
    paused_at = case when ${isPaused}::boolean then coalesce(paused_at, now()) end,
    pause_reason = case when ${isPaused}::boolean then coalesce(${reason}::text, pause_reason) end
  where project_id = ${projectId} and pattern = ${pattern}`

/** Returns the settings of a pattern. */
export const findTargetSetting = ({ projectId, pattern }: { projectId: string; pattern: string }) =>
  sql<TargetSettingRow>`
  select ${columns} from target_setting where project_id = ${projectId} and pattern = ${pattern}`

/** Deletes the row of a pattern without settings. */
export const dropEmptyTargetSetting = ({ projectId, pattern }: { projectId: string; pattern: string }) => sql`
  delete from target_setting
  where project_id = ${projectId} and pattern = ${pattern} and call_limit is null and rate is null and paused_at is null`
