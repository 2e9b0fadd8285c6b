/**
 * Writes down which runs remote workers name with their heartbeats. Only of what is in hand for longer, and no oftener than a
 * sixth of the lease: most runs end before that, and cost nothing here.
 */
import type { Clock } from '../runtime/clock.ts'
import { growingCache } from '../runtime/growing-cache.ts'
import type { Queryable } from '../store/database/database.ts'
import { nameRuns } from '../store/nodes/named-runs.ts'
import type { HeldWork } from '../store/nodes/remote-workers.ts'

/** Runs of which it is kept in mind when they were written down; of others it is done once more. */
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

  /** A worker has named these runs, and holds them. */
  async hear(held: readonly HeldWork[]): Promise<void> {
    const now = this.#clock.now()
    const due = held.filter(
      ({ runId, claimedAt }) => now - (this.#writtenAt.get(runId) ?? claimedAt) >= this.#everyMs,
    )
    if (due.length === 0) return
    await this.#db.run(nameRuns(due))
    for (const { runId } of due) this.#writtenAt.set(runId, now)
  }
}
