/**
 * Hands back runs that a remote worker does not know of: the reply to its claim was lost, and it did not ask again. If a worker
 * names runs in its heartbeats and has not named one for the duration of a lease, it does not perform that run. A run that it
 * never named returns unchanged; one that it did name was begun, and its attempt is lost.
 */

import { lostEnding, mayBeginAgain } from '../outcomes/lost-attempt.ts'
import type { OutcomeWriter } from '../outcomes/outcome-writer.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Database } from '../store/database/database.ts'
import { handBackRuns, reclaimRuns } from '../store/nodes/leased-runs.ts'
import { givenAt, type RemoteWork } from '../store/nodes/remote-runs.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

/** Maximum number of runs handed back by one statement. */
const CHUNK = 500

export interface UnnamedRunsOptions {
  readonly db: Database
  readonly definitions: Definitions
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly log: Logger
  readonly writer: OutcomeWriter
}

export class UnnamedRuns {
  readonly #options: UnnamedRunsOptions

  constructor(options: UnnamedRunsOptions) {
    this.#options = options
  }

  async handBack(unnamed: readonly RemoteWork[]): Promise<void> {
    if (unnamed.length === 0) return
    const { wakeUps, log } = this.#options
    for (let i = 0; i < unnamed.length; i += CHUNK) await this.#chunk(unnamed.slice(i, i + CHUNK))
    wakeUps.announceReady()
    log.warn(
      { count: unnamed.length },
      "returned runs that were missing from their workers' heartbeats for the lease time",
    )
  }

  async #chunk(unnamed: readonly RemoteWork[]): Promise<void> {
    const { db, clock, writer } = this.#options
    const unheard = unnamed.filter(({ wasNamed }) => !wasNamed)
    if (unheard.length > 0) await db.run(handBackRuns(unheard))
    const lost = await this.#worksOf(unnamed.filter(({ wasNamed }) => wasNamed))
    const again = lost.filter(mayBeginAgain)
    if (again.length > 0) await db.run(reclaimRuns(again))
    for (const work of lost)
      if (!mayBeginAgain(work))
        writer.add({
          kind: 'end',
          ending: lostEnding(work, { startedAt: givenAt(work), now: clock.now() }),
          isAwaited: true,
        })
  }

  async #worksOf(runs: readonly RemoteWork[]): Promise<(RemoteWork & Work)[]> {
    const definitions = await this.#options.definitions.of(runs)
    return runs.flatMap((run, i) => {
      const definition = definitions[i]
      return definition ? [{ ...run, definition }] : []
    })
  }
}
