/** What single runs do otherwise than their tasks say. Only manual runs can have a row here. */
import type { RunOverride } from '../core/run-override.ts'
import { list, sql } from './sql.ts'

/** Remembers what a new run shall do otherwise. */
export const insertOverride = ({ runId, override }: { runId: string; override: RunOverride }) =>
  sql`insert into run_override (run_id, override) values (${runId}, ${JSON.stringify(override)}::json)`

/** Those of the given runs that do something otherwise. */
export const readOverrides = (runIds: readonly string[]) => sql<{ runId: string; override: RunOverride }>`
  select run_id as "runId", override from run_override where run_id = any(${list(runIds, (id) => id)}::uuid[])`

/**
 * Forgets runs that were asked for so long ago that history is gone; `before` is the least id to keep. A run
 * that still waits, however long, keeps what it shall do.
 */
export const forgetOverrides = (before: string) => sql`
  delete from run_override o
  where run_id < ${before}::uuid and not exists (select from agenda a where a.run_id = o.run_id)`
