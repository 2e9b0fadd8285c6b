/**
 * Handles pending runs that PostgreSQL refuses to give to a worker. A claim takes many runs, so one such run would keep every
 * worker from all the lanes it claims from. When a claim is refused, each run that it may have included is tried alone, in a
 * transaction that is rolled back; a refused run is removed from `ready`. The audit puts it there again after a minute or two,
 * and it is tried again.
 */

import type { ClaimRequest } from '../../core/run/claim.ts'
import type { Database } from '../../store/database/database.ts'
import { SetAside } from '../../store/database/set-aside.ts'
import { list, sql } from '../../store/database/sql.ts'
import { takeOut, type WaitingRun } from '../../store/ready/put.ts'
import type { Logger } from '../../telemetry/logger.ts'

/** Maximum number of runs tried when a claim is refused, the first ones of all its lanes. */
const MAX_TRIED = 5_000

/** Thrown to roll back a transaction. */
class TakenBack extends Error {}

export class UnclaimableRuns {
  readonly #db: Database
  readonly #aside: SetAside<WaitingRun>

  constructor({ db, log }: { db: Database; log: Logger }) {
    this.#db = db
    const subjectOf = ({ runId }: WaitingRun) => ({ id: runId, runId })
    this.#aside = new SetAside({ operation: 'claim', db, log, subjectOf })
  }

  /** Removes from `ready` the runs that cannot be claimed; returns false if there are none. */
  async setAside(claim: ClaimRequest): Promise<boolean> {
    const waiting = await this.#db.run(firstWaiting(claim))
    const refused = await this.#aside.each(waiting, (runs) => this.#tryOut(claim.workerId, runs))
    if (refused.length > 0) await this.#db.run(takeOut(refused))
    return refused.length > 0
  }

  async #tryOut(workerId: string, runs: readonly WaitingRun[]): Promise<void> {
    try {
      await this.#db.transaction(async (tx) => {
        await tx.run(claimForTrial(workerId, runs))
        throw new TakenBack()
      })
    } catch (error) {
      if (!(error instanceof TakenBack)) throw error
    }
  }
}

/** The first runs of each lane, as a claim would find them. */
const firstWaiting = ({ lanes, limit }: ClaimRequest) => sql<WaitingRun>`
  select first.run_id as "runId", first.lane from unnest(${list(lanes, (id) => id)}::bigint[]) as l(id)
  cross join lateral (
    select lane, run_id from ready where lane = l.id order by priority, wake_at, run_id
    limit ${Math.min(limit, Math.ceil(MAX_TRIED / lanes.length))}
  ) first`

/** Changes the live rows as a claim does. */
const claimForTrial = (workerId: string, runs: readonly WaitingRun[]) => sql`
  update agenda set state = 'running', worker_id = ${workerId}, claimed_at = clock_timestamp(), fence = fence + 1, attempt = attempt + 1
  where run_id = any(${list(runs, (run) => run.runId)}::uuid[]) and state = 'pending'`
