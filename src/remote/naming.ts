/**
 * Records which runs remote workers name in their heartbeats. Only runs that have been leased for some time are recorded, and
 * at most once per sixth of the lease: most runs end before that and cost nothing here.
 */
import type { Clock } from '../runtime/clock.ts'
import { growingCache } from '../runtime/growing-cache.ts'
import type { Queryable } from '../store/database/database.ts'
import { nameRuns } from '../store/nodes/named-runs.ts'
import type { LeasedRunRow } from '../store/nodes/remote-runs.ts'

/** Maximum number of runs whose last recording is cached; others are recorded once more. */
const MAX_KNOWN = 100_000
const PARTS_OF_A_LEASE = 6

export class Naming {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #writtenAt = growingCache<string, number>(MAX_KNOWN)

  constructor({ db, clock, leaseMs }: { db: Queryable; clock: Clock; leaseMs: number }) {
    this.#db = db
    this.#clock = clock
    this.#everyMs = leaseMs / PARTS_OF_A_LEASE
  }

  /** Records that a worker has named these runs, which are leased to it. */
  async hear(leased: readonly LeasedRunRow[]): Promise<void> {
    const now = this.#clock.now()
    const due = leased.filter(
      ({ runId, claimedAt }) => now - (this.#writtenAt.get(runId) ?? claimedAt) >= this.#everyMs,
    )
    if (due.length === 0) return
    await this.#db.run(nameRuns(due))
    for (const { runId } of due) this.#writtenAt.set(runId, now)
  }
}
