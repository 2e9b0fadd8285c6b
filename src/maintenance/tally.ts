import { MINUTE_MS } from '../core/values/time-units.ts'
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

const EVERY_MS = 10_000
/** An end is written a moment after it happened, so a minute is counted once it has been over for this long. */
const SETTLE_MS = 10_000
/**
 * Number of minutes before the first uncounted one that are counted again, for ends that were written late. A worker that
 * cannot write for longer than that has lost its lease, and its writes are rejected.
 */
const RECOUNTED = 1
/** Maximum number of minutes that one pass counts if it has fallen behind: few enough for one statement. */
const MAX_MINUTES = 10

/**
 * Counts history minute by minute, for statistics of the last hour or day. Safe to run on every node at once: one of them locks
 * the row with the progress, and the others skip it.
 */
export class Tally extends LoopService {
  readonly #options: TallyOptions
  /** Minutes that cannot be counted: once known, they are skipped. */
  readonly #aside: SetAside<Minute>

  constructor(options: TallyOptions) {
    const { db, log } = options
    super({ name: 'tally', everyMs: EVERY_MS, log })
    this.#options = options
    const subjectOf = ({ from }: Minute) => ({ id: new Date(from).toISOString() })
    this.#aside = new SetAside({ operation: 'tally', db, log, subjectOf })
  }

  /** Makes one pass; the next follows at once while there is more to count. Otherwise old minutes are recounted. */
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
    // A minute that cannot be counted was reported when it was first found, and must not prevent new ones from being counted.
    await counted.catch((error: unknown) => {
      if (!isRefused(error)) throw error
      log.error({ err: error }, 'cannot recount minutes of history')
    })
  }

  /** Counts the next minute alone; if it cannot be counted it is reported and left out. */
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

/** A time range of history. */
interface Minute {
  readonly from: number
  readonly until: number
}

const floorToMinute = (at: number): number => Math.floor(at / MINUTE_MS) * MINUTE_MS
