/**
 * Runs that remote workers name in their heartbeats: a worker is assumed not to know of a run that it has not named for the
 * duration of a lease.
 */

import { list, sql } from '../database/sql.ts'
import type { LeasedRun } from './leased-runs.ts'

/**
 * Records a heartbeat of a worker that names its runs, even if it has none. After half a lease without such a heartbeat,
 * `naming_since` starts anew, because the worker may have been too busy to name anything. No row if the worker was declared
 * dead.
 */
export const beatNaming = ({ workerId, leaseMs }: { workerId: string; leaseMs: number }) => sql<{
  beat: number
}>`
  update node set beat = beat + 1, beat_at = clock_timestamp(), named_at = clock_timestamp(),
    naming_since = case when named_at > clock_timestamp() - make_interval(secs => ${leaseMs}::float8 / 2000)
                        then naming_since else clock_timestamp() end
  where id = ${workerId} and dead_at is null
  returning beat`

/** Records that runs were named just now. */
export const nameRuns = (runs: readonly LeasedRun[]) => sql`
  insert into named_run (run_id, fence)
  select * from unnest(${list(runs, (r) => r.runId)}::uuid[], ${list(runs, (r) => r.fence)}::integer[]) as i(run_id, fence)
  order by i.run_id
  on conflict (run_id) do update set fence = excluded.fence, at = clock_timestamp()`

/** Deletes the names of runs that have ended. */
export const deleteStaleNames = (limit: number) => sql`
  delete from named_run where ctid = any(array(
    select n.ctid from named_run n where not exists (select from agenda a where a.run_id = n.run_id) limit ${limit}))`
