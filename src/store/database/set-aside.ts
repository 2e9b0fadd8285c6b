/**
 * Executes batches in which PostgreSQL may reject a row. The batch is halved until that row is alone; the row is set aside,
 * retried after a pause that grows to a minute, and reported in the log and the overview. All other rows are processed. This
 * costs nothing while nothing is rejected. Only this process knows which rows are set aside: another process finds out by
 * itself.
 */

import { uuidv7 } from '../../core/ids.ts'
import type { RefusedOperation } from '../../core/ledger/refusal-report.ts'
import { DAY_MS } from '../../core/values/time-units.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { ensurePartitionsOf } from '../history/partitions.ts'
import { isMissingPartition, isRefused, type Queryable } from './database.ts'
import { noteRefused, settleRefused } from './refused-rows.ts'

/** What a row is about, for users who look into the rejection. */
export interface Subject {
  /** Distinguishes the row from others of the same operation. */
  readonly id: string
  readonly runId?: string | null
  readonly taskId?: string | null
}

export interface SetAsideOptions<Row> {
  readonly operation: RefusedOperation
  readonly db: Queryable
  readonly log: Logger
  subjectOf(row: Row): Subject
  /** The instant that dates the row in history, if that may differ from now. */
  datedAt?(row: Row): number
}

const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 60_000
/** Maximum number of rejected rows to remember; the one rejected longest ago is removed, and so is tried again. */
const MAX_KNOWN = 10_000
/** Maximum number of rejections of one batch that are reported individually. */
const MAX_REPORTED = 100
/** Maximum number of characters of an error that are stored. */
const MAX_ERROR = 500
/** Maximum number of days of one batch for which partitions are created. */
const MAX_DAYS = 10

interface Rest {
  readonly tries: number
  /** On the monotonic clock. */
  readonly until: number
}

interface Refused<Row> {
  readonly row: Row
  readonly error: unknown
}

export class SetAside<Row> {
  readonly #options: SetAsideOptions<Row>
  readonly #rests = new Map<string, Rest>()

  constructor(options: SetAsideOptions<Row>) {
    this.#options = options
  }

  /** Ids of the rows that must not be tried yet. */
  get restingIds(): string[] {
    const now = performance.now()
    return [...this.#rests].flatMap(([id, { until }]) => (until > now ? id : []))
  }

  /** Whether a row was rejected and must not be tried yet. */
  isResting(row: Row): boolean {
    return this.#rests.size > 0 && this.restMs(row) > 0
  }

  /** How long a row must not be tried; 0 if it may be tried now. */
  restMs(row: Row): number {
    const rest = this.#rests.get(this.#options.subjectOf(row).id)
    return rest === undefined ? 0 : Math.max(0, rest.until - performance.now())
  }

  /**
   * Executes a batch; returns the rows that were rejected. `work` gets the whole batch, or its parts in turn, and is done with
   * a part when it returns. An error that is not about a row is thrown; the parts before it are done.
   */
  async each(rows: readonly Row[], work: (rows: readonly Row[]) => Promise<void>): Promise<readonly Row[]> {
    const refused: Refused<Row>[] = []
    try {
      await this.#try(rows, work, refused, false)
    } finally {
      await this.#report(refused)
    }
    return refused.map(({ row }) => row)
  }

  /** Records that rows were written, in case any of them was rejected before. */
  async settle(rows: readonly Row[]): Promise<void> {
    if (this.#rests.size === 0) return
    const { operation, db, subjectOf } = this.#options
    const subjects = rows.map((row) => subjectOf(row).id).filter((id) => this.#rests.has(id))
    if (subjects.length === 0) return
    for (const id of subjects) this.#rests.delete(id)
    await this.#note(() => db.run(settleRefused(operation, subjects)))
  }

  /** Sets aside a row that was found to be rejected. */
  refuse(row: Row, error: unknown): Promise<void> {
    return this.#report([{ row, error }])
  }

  async #try(
    rows: readonly Row[],
    work: (rows: readonly Row[]) => Promise<void>,
    refused: Refused<Row>[],
    hasPartitions: boolean,
  ): Promise<void> {
    try {
      await work(rows)
    } catch (error) {
      if (!isRefused(error)) throw error
      const [row] = rows
      if (!hasPartitions && isMissingPartition(error) && (await this.#makePartitions(rows)))
        return this.#try(rows, work, refused, true)
      if (rows.length <= 1) {
        if (row !== undefined) refused.push({ row, error })
        return
      }
      const half = Math.ceil(rows.length / 2)
      await this.#try(rows.slice(0, half), work, refused, hasPartitions)
      return this.#try(rows.slice(half), work, refused, hasPartitions)
    }
    await this.settle(rows)
  }

  /** Creates the partitions for the days of a batch; false if that failed. */
  async #makePartitions(rows: readonly Row[]): Promise<boolean> {
    const { db, log, datedAt } = this.#options
    try {
      await db.run(ensurePartitionsOf(null))
      const days = new Set(datedAt ? rows.map((row) => Math.floor(datedAt(row) / DAY_MS)) : [])
      for (const day of [...days].slice(0, MAX_DAYS)) await db.run(ensurePartitionsOf(day * DAY_MS))
      log.error({ days: days.size }, 'a missing history partition was created')
      return true
    } catch (error) {
      log.error({ err: error }, 'a history partition is missing and could not be created')
      return false
    }
  }

  async #report(refused: readonly Refused<Row>[]): Promise<void> {
    if (refused.length === 0) return
    const { operation, db, log, subjectOf } = this.#options
    const reports = refused.map(({ row, error }) => ({ ...subjectOf(row), error, ...this.#rest(row) }))
    for (const { id, error, tries, runId, taskId } of reports.slice(0, MAX_REPORTED))
      log.error(
        { err: error, operation, subject: id, run: runId, task: taskId, tries },
        'PostgreSQL rejected a row; it is set aside and retried',
      )
    if (reports.length > MAX_REPORTED)
      log.error(
        { operation, count: reports.length - MAX_REPORTED },
        'PostgreSQL rejected further rows of the batch',
      )
    const refusals = reports.slice(0, MAX_REPORTED).map(({ id, runId, taskId, error }) => ({
      id: uuidv7(),
      subject: id,
      runId: runId ?? null,
      taskId: taskId ?? null,
      error: (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR),
    }))
    await this.#note(() => db.run(noteRefused(operation, refusals)))
  }

  #rest(row: Row): Rest {
    const { id } = this.#options.subjectOf(row)
    const tries = (this.#rests.get(id)?.tries ?? 0) + 1
    const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(tries - 1, 10))
    const rest = { tries, until: performance.now() + restMs }
    this.#rests.delete(id)
    this.#rests.set(id, rest)
    for (const [oldest] of this.#rests) {
      if (this.#rests.size <= MAX_KNOWN) break
      this.#rests.delete(oldest)
    }
    return rest
  }

  /** A failed report must not stop the work; the next rejection reports the row again. */
  async #note(write: () => Promise<unknown>): Promise<void> {
    try {
      await write()
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a rejected row could not be reported')
    }
  }
}
