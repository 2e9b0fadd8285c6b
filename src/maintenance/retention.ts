import { LoopService } from '../runtime/loop-service.ts'
import type { Database } from '../store/database/database.ts'
import { deleteOldEntries, deleteOldHistory } from '../store/history/retention.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Pages of a partition that one pass reads: a megabyte, which holds up to 8 000 rows. */
const MAX_PAGES = 128
const MAX_ENTRIES = 5_000
/** Passes leave most of the time to others. */
const BETWEEN_PASSES_MS = 150

export interface RetentionOptions {
  readonly db: Database
  readonly log: Logger
  /** For projects without their own retention. */
  readonly historyDays: number
  readonly auditDays: number
  readonly everyMs: number
}

/**
 * Deletes history and audit log entries of projects that keep them for a shorter time than others do, a bounded number of rows
 * in a pass; what no project keeps any more is dropped with its partition by the housekeeping. While no project has its own
 * retention there is nothing to do. Safe on every node at once: one of them holds the row that says how far it has come.
 */
export class Retention extends LoopService {
  readonly #options: RetentionOptions
  #rows = 0
  #entries = 0

  constructor(options: RetentionOptions) {
    super({ name: 'retention', everyMs: options.everyMs, log: options.log })
    this.#options = options
  }

  /** One pass; another one follows soon while there is more to delete. */
  async runOnce(): Promise<number | undefined> {
    const { db, log, historyDays, auditDays } = this.#options
    const [history] = await db.run(deleteOldHistory({ days: historyDays, maxPages: MAX_PAGES }))
    const [auditLog] = await db.run(deleteOldEntries({ days: auditDays, maxEntries: MAX_ENTRIES }))
    this.#rows += history?.deleted ?? 0
    this.#entries += auditLog?.deleted ?? 0
    if (history?.hasMore || auditLog?.hasMore) return BETWEEN_PASSES_MS
    if (this.#rows + this.#entries > 0)
      log.info(
        { historyRows: this.#rows, auditEntries: this.#entries },
        'deleted expired history and audit entries of projects',
      )
    this.#rows = 0
    this.#entries = 0
    return undefined
  }
}
