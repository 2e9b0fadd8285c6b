/** Overrides of single runs: what they do differently from their tasks. Only manual runs can have one. */
import type { RunOverride } from '../../core/run/run-override.ts'
import { list, sql } from '../database/sql.ts'
import { LARGE_BYTES } from './stored-definition.ts'

/** Stores the override of a new run. */
export const insertOverride = ({ runId, override }: { runId: string; override: RunOverride }) =>
  sql`insert into run_override (run_id, override) values (${runId}, ${JSON.stringify(override)}::json)`

/** The override of a run. */
export interface OverrideRow {
  readonly runId: string
  readonly override: RunOverride
}

/** Returns the overrides of the given runs, whatever their length: the caller must know their total length. */
export const readOverrides = (runIds: readonly string[]) => sql<OverrideRow>`
  select run_id as "runId", override from run_override where run_id = any(${list(runIds, (id) => id)}::uuid[])`

/** The same for any number of runs; a large override is null, with only its length. */
export const measureOverrides = (runIds: readonly string[]) => sql<{
  runId: string
  override: RunOverride | null
  bytes: number
}>`
  select "runId", case when bytes <= ${LARGE_BYTES}::integer then definition end as override, bytes
  from (select run_id as "runId", override as definition, definition_bytes(override, null, null) as bytes
        from run_override where run_id = any(${list(runIds, (id) => id)}::uuid[])) measured`

/**
 * Returns large overrides without their changes to the action. Decompressing and parsing them takes time, so the caller must
 * limit their total length.
 */
export const readLargeOverrides = (runIds: readonly string[]) => sql<OverrideRow>`
  select run_id as "runId", coalesce((select json_object_agg(key, value) from json_each(override) where key <> 'action'), '{}') as override
  from run_override where run_id = any(${list(runIds, (id) => id)}::uuid[])`

/**
 * Deletes the overrides of runs that were requested so long ago that retention has deleted their history; `before` is the
 * lowest id to keep. A run that still waits keeps its override, however old it is.
 */
export const deleteOldOverrides = (before: string) => sql`
  delete from run_override o
  where run_id < ${before}::uuid and not exists (select from agenda a where a.run_id = o.run_id)`
