/** Runs that remote workers name with their heartbeats: what a worker does not name for a lease it does not know of. */

import { list, sql } from '../database/sql.ts'
import type { HeldRun } from './nodes.ts'

/**
 * Beats for a worker that names runs, if only to say that it has none. After a silence of half a lease what it names is looked
 * at anew: it may have been too busy to name anything. No row means that it was declared dead.
 */
export const beatNaming = ({ workerId, leaseMs }: { workerId: string; leaseMs: number }) => sql<{
  beat: number
}>`
  update node set beat = beat + 1, beat_at = clock_timestamp(), named_at = clock_timestamp(),
    naming_since = case when named_at > clock_timestamp() - make_interval(secs => ${leaseMs}::float8 / 2000)
                        then naming_since else clock_timestamp() end
  where id = ${workerId} and dead_at is null
  returning beat`

/** Notes that runs were named just now. */
export const nameRuns = (runs: readonly HeldRun[]) => sql`
  insert into named_run (run_id, fence)
  select * from unnest(${list(runs, (r) => r.runId)}::uuid[], ${list(runs, (r) => r.fence)}::integer[]) as i(run_id, fence)
  order by i.run_id
  on conflict (run_id) do update set fence = excluded.fence, at = clock_timestamp()`

/** Names of runs that have ended. */
export const forgetNames = (limit: number) => sql`
  delete from named_run where ctid = any(array(
    select n.ctid from named_run n where not exists (select from agenda a where a.run_id = n.run_id) limit ${limit}))`
