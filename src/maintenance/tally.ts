import { LoopService } from '../runtime/loop-service.ts'
import { type Database, isRefused, type Queryable } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import {
  groupRuns,
  holdProgress,
  readByIndex,
  saveProgress,
  saveTallies,
  talliesOf,
} from '../store/history/tally.ts'
import type { Logger } from '../telemetry/logger.ts'
import { recount } from './audit/recount.ts'

export interface TallyOptions {
  readonly db: Database
  readonly log: Logger
}

const MINUTE_MS = 60_000
const EVERY_MS = 10_000
/** An end is written a moment after it happened: a minute is counted once it has been over for this long. */
const SETTLE_MS = 10_000
/**
 * Minutes before the first uncounted one that are counted once more, for ends that were written late. A worker
 * that cannot write for longer than that has lost its lease, and what it would write is refused.
 */
const RECOUNTED = 1
/** Minutes that one pass counts when it has fallen behind: few enough for one statement. */
const MAX_MINUTES = 10

/**
 * Counts history, minute by minute, for those who want to know how the last hour or day was. Safe on every
 * node at once: one of them holds the row that says how far the counting has come, the others leave it be.
 */
export class Tally extends LoopService {
  readonly #options: TallyOptions
  /** Minutes that cannot be counted: they are passed over, once they are known. */
  readonly #aside: SetAside<Minute>

  constructor(options: TallyOptions) {
    const { db, log } = options
    super({ name: 'tally', everyMs: EVERY_MS, log })
    this.#options = options
    const subjectOf = ({ from }: Minute) => ({ id: new Date(from).toISOString() })
    this.#aside = new SetAside({ operation: 'tally', db, log, subjectOf })
  }

  /** One pass; another one follows at once while there is more to count. When there is not, old minutes are counted again. */
  async runOnce(): Promise<number | undefined> {
    try {
      if (await this.#count()) return 0
    } catch (error) {
      if (!isRefused(error)) throw error
      if (await this.#countOne()) return 0
    }
    await this.#recount()
    return undefined
  }

  async #recount(): Promise<void> {
    const { db, log } = this.#options
    const counted = db.transaction(async (tx) => {
      const [progress] = await tx.run(holdProgress())
      if (!progress) return
      await tx.run(readByIndex())
      await recount(tx, { countedUntil: floorToMinute(progress.countedUntil), now: progress.now, log })
    })
    // What cannot be counted was reported when it was first met, and keeps nothing new from being counted.
    await counted.catch((error: unknown) => {
      if (!isRefused(error)) throw error
      log.error({ err: error }, 'cannot recount minutes of history')
    })
  }

  /** Counts the next minute by itself; one that cannot be counted is reported and left out. */
  async #countOne(): Promise<boolean> {
    const { db } = this.#options
    return db.transaction(async (tx) => {
      const [progress] = await tx.run(holdProgress())
      if (!progress) return false
      const from = floorToMinute(progress.countedUntil)
      const until = from + MINUTE_MS
      if (until > floorToMinute(progress.now - SETTLE_MS)) return false
      await this.#aside.each([{ from, until }], (minutes) =>
        db.transaction((other) => this.#save(other, minutes[0] as Minute)),
      )
      await tx.run(saveProgress(until))
      return true
    })
  }

  async #save(tx: Queryable, { from, until }: Minute): Promise<void> {
    await tx.run(readByIndex())
    const tallies = talliesOf(await tx.run(groupRuns({ from, until })))
    if (tallies.length > 0) await tx.run(saveTallies(tallies))
  }

  #count(): Promise<boolean> {
    return this.#options.db.transaction(async (tx) => {
      const [progress] = await tx.run(holdProgress())
      if (!progress) return false
      const { now } = progress
      const countedUntil = floorToMinute(progress.countedUntil)
      const settled = floorToMinute(now - SETTLE_MS)
      const until = Math.min(settled, countedUntil + MAX_MINUTES * MINUTE_MS)
      if (until <= countedUntil) return false
      await this.#save(tx, { from: countedUntil - RECOUNTED * MINUTE_MS, until })
      await tx.run(saveProgress(until))
      return until < settled
    })
  }
}

/** A stretch of history. */
interface Minute {
  readonly from: number
  readonly until: number
}

const floorToMinute = (at: number): number => Math.floor(at / MINUTE_MS) * MINUTE_MS
