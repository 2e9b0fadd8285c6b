import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import { PARTITION_DAYS_AHEAD } from '../store/migrate.ts'
import { forgetNodes } from '../store/nodes.ts'
import { sql } from '../store/sql.ts'
import { forgetAnswers } from '../store/tasks.ts'

const EVERY_MS = 10 * 60_000
const ANSWERS_KEPT_HOURS = 24
const DEAD_NODES_KEPT_DAYS = 7

/** Makes tomorrow's partitions and forgets what has served its time. Safe on every node at once. */
export class Housekeeping implements Service {
  readonly #db: Database
  readonly #loop: Loop

  constructor({ db, log }: { db: Database; log: Logger }) {
    this.#db = db
    this.#loop = new Loop({ name: 'housekeeping', everyMs: EVERY_MS, log, runOnce: () => this.runOnce() })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async runOnce(): Promise<undefined> {
    await this.#db.run(sql`select ensure_partitions(${PARTITION_DAYS_AHEAD})`)
    await this.#db.run(forgetAnswers(ANSWERS_KEPT_HOURS))
    await this.#db.run(forgetNodes(DEAD_NODES_KEPT_DAYS))
    return undefined
  }
}
