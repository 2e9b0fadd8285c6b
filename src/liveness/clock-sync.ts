import { type DatabaseClock, ROUND_TRIPS_AT_START } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Database } from '../store/database.ts'
import { readClock } from '../store/nodes.ts'

const EVERY_MS = 2_000
/** An answer that took longer than this says too little about the time. */
const SLOWEST_READING_MS = 250

/** Keeps this node's idea of the time with the database's, and raises an alarm when that one is set. */
export class ClockSync extends LoopService {
  readonly #options: { db: Database; clock: DatabaseClock; log: Logger }

  constructor(options: { db: Database; clock: DatabaseClock; log: Logger }) {
    super({ name: 'clock', everyMs: EVERY_MS, log: options.log })
    this.#options = options
  }

  override async start(): Promise<void> {
    for (let i = 0; i < ROUND_TRIPS_AT_START || !this.#options.clock.isSet; i++) await this.runOnce()
    super.start()
  }

  async runOnce(): Promise<undefined> {
    const { db, clock, log } = this.#options
    const askedAt = performance.now()
    const [answer] = await db.run(readClock())
    if (!answer || (clock.isSet && performance.now() - askedAt > SLOWEST_READING_MS)) return
    const sample = clock.observe(answer.now)
    if (sample.kind === 'step')
      log.error({ byMs: Math.round(sample.byMs) }, 'the clock of the database was set')
  }
}
