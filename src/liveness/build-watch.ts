import { LoopService } from '../runtime/loop-service.ts'
import type { Database } from '../store/database/database.ts'
import { readOldestMigration, tooOldSentence } from '../store/schema/compatibility.ts'
import type { Logger } from '../telemetry/logger.ts'

const EVERY_MS = 10_000

/** Options of `BuildWatch`. */
export interface BuildWatchOptions {
  readonly db: Database
  readonly log: Logger
  /** The last migration that this build includes. */
  readonly lastMigration: number
  /** Called when the database no longer admits this build. */
  onTooOld(reason: string): void
}

/**
 * Stops a node that a newer release has made obsolete: a node that keeps using statements for an older schema may own shards
 * and fire nothing.
 */
export class BuildWatch extends LoopService {
  readonly #options: BuildWatchOptions

  constructor(options: BuildWatchOptions) {
    super({ name: 'build watch', everyMs: EVERY_MS, log: options.log })
    this.#options = options
  }

  async runOnce(): Promise<undefined> {
    const { db, log, lastMigration: known, onTooOld } = this.#options
    const [row] = await db.run(readOldestMigration())
    if (row === undefined || row.oldestMigration <= known) return
    const reason = tooOldSentence({ known, oldest: row.oldestMigration })
    log.error(reason)
    onTooOld(reason)
  }
}
