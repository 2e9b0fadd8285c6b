/** Handles heartbeats of remote workers: the runs they perform, the progress of these runs, and the response about them. */
import type { Clock } from '../runtime/clock.ts'
import type { Queryable } from '../store/database/database.ts'
import { beatNaming } from '../store/nodes/named-runs.ts'
import { beat } from '../store/nodes/nodes.ts'
import { type LeasedRunRow, saveProgress } from '../store/nodes/remote-runs.ts'
import { limitedGates } from '../store/queues/gates.ts'
import { countRunningOfProjects } from '../store/queues/project-gates.ts'
import { countRunning } from '../store/queues/queue-limits.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { RemoteStatus, RemoteWorker, Standings } from '../transport/remote-workers.ts'
import { gone } from './claim-book.ts'
import { leasedAmong, worksOf } from './leased-runs.ts'
import { Naming } from './naming.ts'
import type { RemoteSecrets } from './remote-secrets.ts'

export interface HeartbeatsOptions {
  readonly db: Queryable
  readonly definitions: Definitions
  readonly clock: Clock
  readonly leaseMs: number
}

/** How long the result of the check for limited queues is cached. */
const LIMITS_STALE_MS = 1_000

export class Heartbeats {
  readonly #options: HeartbeatsOptions
  readonly #secrets: RemoteSecrets
  readonly #naming: Naming
  #limits = { readAt: Number.NEGATIVE_INFINITY, exist: false }

  constructor(options: HeartbeatsOptions, secrets: RemoteSecrets) {
    this.#options = options
    this.#secrets = secrets
    this.#naming = new Naming(options)
  }

  async hear(worker: RemoteWorker, runs: readonly RemoteStatus[] | null): Promise<Standings> {
    const { db, leaseMs } = this.#options
    const beating = runs === null ? beat(worker.id) : beatNaming({ workerId: worker.id, leaseMs })
    if ((await db.run<unknown>(beating)).length === 0) throw gone(worker)
    if (runs === null || runs.length === 0) return { cancelled: [], lost: [] }
    const leased = await leasedAmong(db, worker, runs)
    const inHand = [...leased.keys()]
    await this.#naming.hear([...leased.values()])
    await this.#keepProgress(leased)
    if (inHand.length > 0 && (await this.#areQueuesLimited())) {
      const counted = { workerId: worker.id, runIds: inHand.map(({ runId }) => runId) }
      await db.run(countRunning(counted))
      await db.run(countRunningOfProjects(counted))
    }
    return {
      cancelled: inHand.filter((run) => leased.get(run)?.isCancelled).map(({ runId }) => runId),
      lost: runs.filter((run) => !leased.has(run)).map(({ runId }) => runId),
    }
  }

  /** Stores progress as it is displayed, with secrets redacted. */
  async #keepProgress(leased: ReadonlyMap<RemoteStatus, LeasedRunRow>): Promise<void> {
    const told = [...leased].filter(([{ progress }]) => progress)
    if (told.length === 0) return
    const { db, definitions } = this.#options
    const rows = told.map(([, row]) => row)
    const works = (await this.#secrets.areInUse()) ? await worksOf(definitions, rows) : []
    const redactors = await this.#secrets.redactorsFor(works)
    const shown = told.flatMap(([{ runId, fence, progress }]) => {
      if (!progress) return []
      const { fraction, message } = progress
      return { runId, fence, fraction, message: message && (redactors.get(runId)?.text(message) ?? message) }
    })
    await db.run(saveProgress(shown))
  }

  /**
   * Whether any queue has a limit. Nodes that had not yet noticed a new limit may have claimed runs without counting them; they
   * are counted here.
   */
  async #areQueuesLimited(): Promise<boolean> {
    const now = performance.now()
    if (now - this.#limits.readAt < LIMITS_STALE_MS) return this.#limits.exist
    const limited = await this.#options.db.run(limitedGates())
    this.#limits = { readAt: now, exist: limited.length > 0 }
    return this.#limits.exist
  }
}
