/** What single runs do otherwise than their tasks say. Only manual runs can have a row here. */
import type { RunOverride } from '../../core/run/run-override.ts'
import { list, sql } from '../database/sql.ts'
import { LARGE_BYTES } from './stored-definition.ts'

/** Remembers what a new run shall do otherwise. */
export const insertOverride = ({ runId, override }: { runId: string; override: RunOverride }) =>
  sql`insert into run_override (run_id, override) values (${runId}, ${JSON.stringify(override)}::json)`

/** What a run does otherwise. */
export interface OverrideRow {
  readonly runId: string
  readonly override: RunOverride
}

/** Those of the given runs that do something otherwise, however long it is to tell: whoever asks knows how long they are together. */
export const readOverrides = (runIds: readonly string[]) => sql<OverrideRow>`
  select run_id as "runId", override from run_override where run_id = any(${list(runIds, (id) => id)}::uuid[])`

/** The same for any number of runs: of what is large only how long it is. */
export const measureOverrides = (runIds: readonly string[]) => sql<{
  runId: string
  override: RunOverride | null
  bytes: number
}>`
  select "runId", case when bytes <= ${LARGE_BYTES}::integer then definition end as override, bytes
  from (select run_id as "runId", override as definition, definition_bytes(override, null, null) as bytes
        from run_override where run_id = any(${list(runIds, (id) => id)}::uuid[])) measured`

/** Overrides that are large, without what they do to the action. Opening them takes time, so they must not be too many bytes together. */
export const readLargeOverrides = (runIds: readonly string[]) => sql<OverrideRow>`
  select run_id as "runId", coalesce((select json_object_agg(key, value) from json_each(override) where key <> 'action'), '{}') as override
  from run_override where run_id = any(${list(runIds, (id) => id)}::uuid[])`

/**
 * Forgets runs that were asked for so long ago that history is gone; `before` is the least id to keep. A run
 * that still waits, however long, keeps what it shall do.
 */
export const forgetOverrides = (before: string) => sql`
  delete from run_override o
  where run_id < ${before}::uuid and not exists (select from agenda a where a.run_id = o.run_id)`
