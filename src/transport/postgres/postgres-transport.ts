import type { Claim, ClaimRequest, GatedClaimRequest } from '../../core/run/claim.ts'
import type { Queryable } from '../../store/database/database.ts'
import type { Statement } from '../../store/database/sql.ts'
import { leaveSideLanes, requeueStranded } from '../../store/ready/put.ts'
import { takeGated, takeReady } from '../../store/ready/take.ts'
import type { PutRun, Transport } from '../transport.ts'

/** Carries runs through the table `ready`. */
export class PostgresTransport implements Transport {
  readonly #db: Queryable

  constructor(db: Queryable) {
    this.#db = db
  }

  put(runIds: readonly string[]): Promise<readonly PutRun[]> {
    return this.#db.run(requeueStranded(runIds))
  }

  leaveSideLanes(lanes: readonly number[], limit: number): Promise<readonly { readonly runId: string }[]> {
    return this.#db.run(leaveSideLanes(lanes, limit))
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.#answer(takeReady(request))
  }

  claimGated(request: GatedClaimRequest): Promise<Claim> {
    return this.#answer(takeGated(request))
  }

  async #answer(statement: Statement<Claim>): Promise<Claim> {
    const [claim] = await this.#db.run(statement)
    return claim ?? { runs: [], isShort: false }
  }
}
