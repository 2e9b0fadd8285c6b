/**
 * Reclaims runs whose attempts have stopped sending heartbeats of their own although their worker is alive: the program hangs,
 * or its machine is disconnected. As with nodes, silence counts only while this node can read the database. Safe to run on
 * every node at once: the fence decides.
 */
import { lostEnding, mayBeginAgain } from '../outcomes/lost-attempt.ts'
import type { Clock } from '../runtime/clock.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { Watch } from '../runtime/watch.ts'
import { endRuns } from '../store/agenda/outcomes.ts'
import type { Database } from '../store/database/database.ts'
import { finishBeats, type QuietAttempt, quietAttempts } from '../store/nodes/attempt-beats.ts'
import { reclaimRuns } from '../store/nodes/leased-runs.ts'
import { givenAt } from '../store/nodes/remote-runs.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

export interface SilentAttemptsOptions {
  readonly db: Database
  readonly definitions: Definitions
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly log: Logger
  readonly everyMs: number
  /** An attempt that is silent for this long is lost. */
  readonly leaseMs: number
  /** Maximum number of attempts reclaimed in one pass; the others wait for the next. */
  readonly batch: number
}

/** Attempts that have been quiet for this fraction of the lease are examined. */
const QUIET_PART = 0.5

export class SilentAttempts extends LoopService {
  readonly #options: SilentAttemptsOptions
  readonly #watch: Watch

  constructor(options: SilentAttemptsOptions) {
    super({ name: 'silent attempts', everyMs: options.everyMs, log: options.log })
    this.#options = options
    this.#watch = new Watch(options.everyMs * 2)
  }

  async runOnce(): Promise<undefined> {
    const { db, leaseMs, batch, log } = this.#options
    const quietMs = leaseMs * QUIET_PART
    const quiet = await db.run(quietAttempts({ quietMs, limit: batch }))
    for (const attempt of quiet) this.#watch.see(keyOf(attempt), String(attempt.beatAt))
    this.#watch.endPass()
    const silent = quiet.filter((attempt) => this.#watch.quietMs(keyOf(attempt)) >= leaseMs - quietMs)
    if (silent.length === 0) return
    const runs = await this.#takeBack(await this.#worksOf(silent))
    if (runs > 0) log.warn({ count: runs }, 'reclaimed runs whose attempts stopped sending heartbeats')
  }

  async #worksOf(attempts: readonly QuietAttempt[]): Promise<(QuietAttempt & Work)[]> {
    const definitions = await this.#options.definitions.of(attempts)
    return attempts.flatMap((attempt, i) => {
      const definition = definitions[i]
      return definition ? [{ ...attempt, definition }] : []
    })
  }

  async #takeBack(lost: readonly (QuietAttempt & Work)[]): Promise<number> {
    const { db, clock, wakeUps } = this.#options
    const again = lost.filter((work) => !work.isCancelled && mayBeginAgain(work))
    const endings = lost
      .filter((work) => !again.includes(work))
      .map((work) => lostEnding(work, { startedAt: givenAt(work), now: clock.now(), how: 'silent' }))
    const back =
      again.length === 0
        ? []
        : await db.run(reclaimRuns(again.map((work) => ({ ...work, startedAt: givenAt(work) }))))
    const [ended] = endings.length === 0 ? [] : await db.run(endRuns(endings))
    await db.run(finishBeats(lost))
    if (back.length > 0 || ended?.hasFreedGates) wakeUps.announceReady()
    wakeUps.announceDue(ended?.following ?? [])
    return back.length + (ended?.ended ?? 0)
  }
}

const keyOf = ({ runId, fence }: QuietAttempt) => `${runId}/${fence}`
