import { LoopService } from '../runtime/loop-service.ts'
import { endExpired, expiredQueueTimeouts } from '../store/agenda/expiry.ts'
import type { Database } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

export interface ExpiryOptions {
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly log: Logger
}

const EVERY_MS = 1_000
/** Maximum number of queue timeouts handled in one pass; if there are more, the next pass follows after AGAIN_MS. */
const BATCH = 1_000
const AGAIN_MS = 20

/**
 * Ends runs that have waited for a worker longer than their task allows. Safe to run on every node at once: nodes skip each
 * other's locked rows, and a run ends only while it still waits.
 */
export class Expiry extends LoopService {
  readonly #options: ExpiryOptions
  readonly #aside: SetAside<{ readonly runId: string }>

  constructor(options: ExpiryOptions) {
    const { db, log } = options
    super({ name: 'expiry', everyMs: EVERY_MS, log })
    this.#options = options
    this.#aside = new SetAside({
      ...{ operation: 'expire', db, log },
      subjectOf: ({ runId }) => ({ id: runId, runId }),
    })
  }

  /** Makes one pass; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<number | undefined> {
    const { db, wakeUps, log } = this.#options
    const timeouts = await db.run(expiredQueueTimeouts({ limit: BATCH, except: this.#aside.restingIds }))
    if (timeouts.length === 0) return undefined
    await this.#aside.each(timeouts, async (part) => {
      const [expired] = await db.run(endExpired(part))
      if (!expired) return
      if (expired.following.length > 0) wakeUps.announceDue(expired.following)
      if (expired.ended > 0)
        log.info({ count: expired.ended }, 'ended runs that exceeded their queue timeout')
    })
    return timeouts.length === BATCH ? AGAIN_MS : undefined
  }
}
