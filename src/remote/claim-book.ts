/**
 * What became of each worker's latest claim, as the tables tell. A claim is made once, wherever and however often it is sent:
 * it is written down with its runs, or as empty, before it is answered, and whoever sends it again is answered from there. A claim
 * that arrived before another one of the same worker was answered is not made any more: the worker has gone on without it.
 */

import { Refusal } from '../core/errors.ts'
import type { Claim, ClaimedRun } from '../core/run/claim.ts'
import type { Database, Queryable } from '../store/database/database.ts'
import {
  closeClaim,
  type LatestClaim,
  latestClaim,
  latestClaims,
  lockClaims,
  rememberClaim,
  workHeldBy,
} from '../store/nodes/remote-workers.ts'
import type { RemoteWorker } from '../transport/remote-workers.ts'
import type { WaitingClaim } from './waiting-claim.ts'

/** What came of a look for runs: the answer to the claim, or nothing so far. */
export interface Made extends Claim {
  readonly isAnswer: boolean
}

export const NOTHING: Made = { runs: [], isShort: false, isAnswer: false }

export class ClaimBook {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** The worker's latest claim; refuses a worker that is dead. */
  async latest(worker: RemoteWorker): Promise<LatestClaim> {
    const [latest] = await this.#db.run(latestClaim(worker.id))
    return living(worker, latest)
  }

  /** What is left in the worker's hands of a claim that it has made before. */
  again(worker: RemoteWorker, { runIds }: LatestClaim, db: Queryable = this.#db): Promise<ClaimedRun[]> {
    return runIds.length === 0 ? Promise.resolve([]) : db.run(workHeldBy({ workerId: worker.id, runIds }))
  }

  /** Makes a claim by what `take` finds. Nobody hears of runs that are taken for a worker that has hung up, so none are. */
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

  /** Ends a claim that has found nothing. The answer is what was made of it elsewhere in the last moment, if anything. */
  async close(waiting: WaitingClaim): Promise<readonly ClaimedRun[]> {
    const { worker, claim, before } = waiting
    const closed = await this.#db.run(closeClaim({ id: worker.id, claimId: claim.requestId, before }))
    if (closed.length > 0) return []
    return (await this.#known(waiting, await this.latest(worker), this.#db)) ?? []
  }

  /** Answers those of the claims that are decided, because they were made elsewhere or their worker has gone on or died. */
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

  /** The answer to a claim that is decided; undefined while it can still be made. */
  async #known(
    { worker, claim, before }: WaitingClaim,
    latest: LatestClaim,
    db: Queryable,
  ): Promise<readonly ClaimedRun[] | undefined> {
    if (latest.claimId === claim.requestId) return this.again(worker, latest, db)
    return latest.claimId === before ? undefined : []
  }
}

/** Whoever asked has hung up. */
const ABANDONED = new Error('the client of this claim has disconnected')

function living(worker: RemoteWorker, latest: LatestClaim | undefined): LatestClaim {
  if (!latest || latest.isDead) throw gone(worker)
  return latest
}

/** The worker was declared dead, or has left. */
export const gone = ({ id }: Pick<RemoteWorker, 'id'>): Refusal =>
  new Refusal(
    'worker_gone',
    `Worker ${id} was declared dead or has deregistered, and its runs were reassigned. Stop them and register again.`,
  )
