/** The runs leased to a remote worker. It can change only these, and only with the fence of the lease. */
import type { ClaimedRun } from '../core/run/claim.ts'
import type { Queryable } from '../store/database/database.ts'
import { type LeasedRunRow, runsLeasedTo } from '../store/nodes/remote-runs.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { RemoteLease, RemoteWorker } from '../transport/remote-workers.ts'
import type { Work } from '../transport/transport.ts'

/** Returns those of the named runs that are leased to the worker, keyed by the object that names them. */
export async function leasedAmong<T extends RemoteLease>(
  db: Queryable,
  worker: RemoteWorker,
  named: readonly T[],
): Promise<Map<T, LeasedRunRow>> {
  const runIds = named.map(({ runId }) => runId)
  const rows = await db.run(runsLeasedTo({ workerId: worker.id, runIds }))
  const byId = new Map(rows.map((row) => [row.runId, row]))
  return new Map(
    named.flatMap((run): [T, LeasedRunRow][] => {
      const row = byId.get(run.runId)
      return row?.fence === run.fence ? [[run, row]] : []
    }),
  )
}

/** Returns the runs with their definitions; runs whose definition no longer exists are left out. */
export async function worksOf<Run extends ClaimedRun>(
  definitions: Definitions,
  runs: readonly Run[],
): Promise<(Run & Work)[]> {
  const found = await definitions.of(runs)
  return runs.flatMap((run, i) => {
    const definition = found[i]
    return definition ? [{ ...run, definition }] : []
  })
}
