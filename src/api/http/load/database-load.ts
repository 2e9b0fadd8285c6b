/**
 * Measures how slow the database is for requests: while requests arrive, a trivial query runs a few times a second on the
 * connections that all of them share. It takes at least as long as any other request waits for a connection and for the server.
 * Without requests no query is sent.
 */
import type { Queryable } from '../../../store/database/database.ts'
import { sql } from '../../../store/database/sql.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Importance } from './importance.ts'
import { LoadLevel } from './load-level.ts'

const EVERY_MS = 250
/** After this long without a request, the queries stop. */
const IDLE_MS = 5_000

export interface DatabaseLoadOptions {
  readonly db: Queryable
  /** The database counts as slow if a trivial query takes longer than this. */
  readonly slowMs: number
  readonly log: Logger
}

export class DatabaseLoad {
  readonly #options: DatabaseLoadOptions
  readonly #level: LoadLevel
  readonly #refusals = new Map<Importance, number>()
  #refused: readonly Importance[] = []
  #timer: NodeJS.Timeout | undefined
  #usedAt = 0
  /** When the query that has no result yet was sent. */
  #askedAt: number | null = null
  #delayMs = 0

  constructor(options: DatabaseLoadOptions) {
    this.#options = options
    this.#level = new LoadLevel(options.slowMs)
  }

  /** The kinds of requests that are currently rejected, the least important first. */
  get refused(): readonly Importance[] {
    return this.#refused
  }

  /** How long the latest trivial query took, or has taken so far. */
  get delayMs(): number {
    return Math.round(Math.max(this.#delayMs, this.#waitingMs(performance.now())))
  }

  /** Number of requests rejected since this process started. */
  get refusals(): number {
    return [...this.#refusals.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Notes a request, and returns whether to reject it. */
  isRefused(importance: Importance): boolean {
    this.#usedAt = performance.now()
    if (this.#timer === undefined) this.#begin()
    return this.#refused.length > 0 && this.#refused.includes(importance)
  }

  /** Counts a rejected request. */
  count(importance: Importance): void {
    this.#refusals.set(importance, (this.#refusals.get(importance) ?? 0) + 1)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #begin(): void {
    this.#timer = setInterval(() => this.#look(), EVERY_MS)
    this.#timer.unref()
  }

  #look(): void {
    const now = performance.now()
    const before = this.#level.level
    this.#level.observe(Math.max(this.#delayMs, this.#waitingMs(now)), now)
    this.#refused = this.#level.refused
    if (this.#level.level !== before) this.#tell(before)
    if (this.#askedAt === null) void this.#ask(now)
    if (this.#level.level === 0 && now - this.#usedAt > IDLE_MS) this.stop()
  }

  #waitingMs(now: number): number {
    return this.#askedAt === null ? 0 : now - this.#askedAt
  }

  /** A failing database does not count as slow: requests get the error themselves, and sooner. */
  async #ask(now: number): Promise<void> {
    this.#askedAt = now
    try {
      await this.#options.db.run(sql`select 1`)
      this.#delayMs = performance.now() - now
    } catch {
      this.#delayMs = 0
    } finally {
      this.#askedAt = null
    }
  }

  #tell(before: number): void {
    const details = { databaseDelayMs: this.delayMs, refused: this.#refused, refusals: this.refusals }
    if (this.#level.level > before) this.#options.log.warn(details, 'the database is slow; refusing requests')
    else if (this.#level.level > 0)
      this.#options.log.info(details, 'the database has become faster; accepting more requests')
    else this.#options.log.info(details, 'the database has recovered; accepting all requests')
  }
}
