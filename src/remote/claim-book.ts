/**
 * Records the result of each worker's latest claim in the tables. A claim is made once, wherever and however often it is sent:
 * it is stored with its runs, or as empty, before it is answered, and repetitions get the stored result. A claim that arrived
 * before another one of the same worker was answered is no longer made: the worker has moved on.
 */

import { Refusal } from '../core/errors.ts'
import type { Claim, ClaimedRun } from '../core/run/claim.ts'
import type { Database, Queryable } from '../store/database/database.ts'
import { runsLeasedTo } from '../store/nodes/remote-runs.ts'
import {
  closeClaim,
  type LatestClaim,
  latestClaim,
  latestClaims,
  lockClaims,
  rememberClaim,
} from '../store/nodes/remote-workers.ts'
import type { RemoteWorker } from '../transport/remote-workers.ts'
import type { WaitingClaim } from './waiting-claim.ts'

/** The result of a look for runs: the response to the claim, or nothing so far. */
export interface Made extends Claim {
  readonly isAnswer: boolean
}

export const NOTHING: Made = { runs: [], isShort: false, isAnswer: false }

export class ClaimBook {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns the worker's latest claim; rejects a dead worker. */
  async latest(worker: RemoteWorker): Promise<LatestClaim> {
    const [latest] = await this.#db.run(latestClaim(worker.id))
    return living(worker, latest)
  }

  /** Returns the runs of an earlier claim that the worker still has. */
  again(worker: RemoteWorker, { runIds }: LatestClaim, db: Queryable = this.#db): Promise<ClaimedRun[]> {
    return runIds.length === 0 ? Promise.resolve([]) : db.run(runsLeasedTo({ workerId: worker.id, runIds }))
  }

  /**
   * Makes a claim with the runs that `take` finds. If the worker has disconnected, the transaction is rolled back, because
   * nobody would receive the runs.
   */
  async make(waiting: WaitingClaim, take: (tx: Queryable) => Promise<Claim>): Promise<Made> {
    const { worker, claim } = waiting
    try {
      return await this.#db.transaction(async (tx) => {
        const [latest] = await tx.run(lockClaims(worker.id))
        const known = await this.#known(waiting, living(worker, latest), tx)
        if (known) return { runs: known, isShort: false, isAnswer: true }
        const { runs, isShort } = await take(tx)
        if (runs.length === 0) return { ...NOTHING, isShort }
        if (waiting.isAbandoned) throw ABANDONED
        const runIds = runs.map(({ runId }) => runId)
        await tx.run(rememberClaim({ id: worker.id, claimId: claim.requestId, runIds }))
        return { runs, isShort, isAnswer: true }
      })
    } catch (error) {
      if (error === ABANDONED) return NOTHING
      throw error
    }
  }

  /** Closes a claim that found nothing. Returns the runs if the claim was made elsewhere at the last moment. */
  async close(waiting: WaitingClaim): Promise<readonly ClaimedRun[]> {
    const { worker, claim, before } = waiting
    const closed = await this.#db.run(closeClaim({ id: worker.id, claimId: claim.requestId, before }))
    if (closed.length > 0) return []
    return (await this.#known(waiting, await this.latest(worker), this.#db)) ?? []
  }

  /**
   * Answers those of the claims that are decided because they were made elsewhere, or because their worker has moved on or
   * died.
   */
  async answerDecided(claims: readonly WaitingClaim[]): Promise<void> {
    const rows = await this.#db.run(latestClaims(claims.map(({ worker }) => worker.id)))
    const byWorker = new Map(rows.map((row) => [row.id, row]))
    for (const waiting of claims) {
      if (waiting.isBeingMade) continue
      const latest = byWorker.get(waiting.worker.id)
      if (!latest || latest.isDead) waiting.fail(gone(waiting.worker))
      else {
        const known = await this.#known(waiting, latest, this.#db)
        if (known) waiting.settle(known)
      }
    }
  }

  /** Returns the response to a claim that is decided; undefined while it can still be made. */
  async #known(
    { worker, claim, before }: WaitingClaim,
    latest: LatestClaim,
    db: Queryable,
  ): Promise<readonly ClaimedRun[] | undefined> {
    if (latest.claimId === claim.requestId) return this.again(worker, latest, db)
    return latest.claimId === before ? undefined : []
  }
}

/** Thrown to roll back a claim whose client has disconnected. */
const ABANDONED = new Error('the client of this claim has disconnected')

function living(worker: RemoteWorker, latest: LatestClaim | undefined): LatestClaim {
  if (!latest || latest.isDead) throw gone(worker)
  return latest
}

/** The rejection for a worker that was declared dead or has deregistered. */
export const gone = ({ id }: Pick<RemoteWorker, 'id'>): Refusal =>
  new Refusal(
    'worker_gone',
    `Worker ${id} was declared dead or has deregistered, and its runs were reassigned. Stop them and register again.`,
  )
