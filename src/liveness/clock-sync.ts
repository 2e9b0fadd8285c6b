import { type DatabaseClock, ROUND_TRIPS_AT_START } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import { readClock } from '../store/nodes.ts'

const EVERY_MS = 2_000
/** An answer that took longer than this says too little about the time. */
const SLOWEST_READING_MS = 250

/** Keeps this node's idea of the time with the database's, and raises an alarm when that one is set. */
export class ClockSync implements Service {
  readonly #options: { db: Database; clock: DatabaseClock; log: Logger }
  readonly #loop: Loop

  constructor(options: { db: Database; clock: DatabaseClock; log: Logger }) {
    this.#options = options
    this.#loop = new Loop({
      name: 'clock',
      everyMs: EVERY_MS,
      log: options.log,
      runOnce: () => this.runOnce(),
    })
  }

  async start(): Promise<void> {
    for (let i = 0; i < ROUND_TRIPS_AT_START || !this.#options.clock.isSet; i++) await this.runOnce()
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
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
