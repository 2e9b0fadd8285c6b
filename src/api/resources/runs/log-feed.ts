/**
 * Notifies the clients that follow logs on this node of new lines. While there are any, one statement a few times a second
 * reads the new lines of all followed runs. It sees what any node has written, and costs nothing while no client follows.
 */
import { isBehind, type LogPosition, type ReadRow } from '../../../core/run/log-line.ts'
import type { Queryable } from '../../../store/database/database.ts'
import { type FollowedRow, followLogs, type RunWithLog } from '../../../store/logs/read.ts'
import type { Logger } from '../../../telemetry/logger.ts'

/** Minimum interval between queries; it is extended so that they use no more than a tenth of the time. */
const EVERY_MS = 250
const PAUSE_PER_MS = 10
const LONGEST_PAUSE_MS = 5_000
/** If there is more than one query reads, the next one follows soon. */
const SOON_MS = 25
/** Maximum number of rows that one query reads, over all runs. */
const MAX_ROWS = 256

/** The new lines for a follower of a log. */
export interface LogNews {
  readonly rows: readonly ReadRow[]
  /** Whether the run has ended, and this is the rest of its log. */
  readonly isOver: boolean
}

/** How many lines of which attempt were omitted, as last sent. */
export interface ToldOmitted {
  readonly fence: number
  readonly lines: number
}

interface Waiting {
  readonly run: RunWithLog
  readonly after: LogPosition
  /** The number of omitted lines that was last sent; it is sent again when it changes. */
  readonly omitted: ToldOmitted | null
  resolve(news: LogNews): void
}

export class LogFeed {
  readonly #db: Queryable
  readonly #log: Logger
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(db: Queryable, log: Logger) {
    this.#db = db
    this.#log = log
  }

  /** Resolves when there are lines after a position, or the run has ended; null if neither happens in time. */
  next(
    { run, after, omitted }: Pick<Waiting, 'run' | 'after' | 'omitted'>,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<LogNews | null> {
    if (signal.aborted) return Promise.resolve(null)
    return new Promise((settle) => {
      const end = (news: LogNews | null) => {
        clearTimeout(late)
        signal.removeEventListener('abort', leave)
        this.#waiting.delete(waiting)
        settle(news)
      }
      const leave = () => end(null)
      const late = setTimeout(leave, withinMs)
      signal.addEventListener('abort', leave)
      const waiting = { run, after, omitted, resolve: end }
      this.#waiting.add(waiting)
      this.#lookIn(Math.max(0, this.#lookedAt + EVERY_MS - performance.now()))
    })
  }

  #lookIn(ms: number): void {
    if (this.#isLooking || this.#timer !== undefined) return
    this.#timer = setTimeout(() => void this.#look(), ms)
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    this.#timer = undefined
    if (this.#waiting.size === 0) return
    this.#isLooking = true
    this.#lookedAt = performance.now()
    let pauseMs = LONGEST_PAUSE_MS
    try {
      const isMore = await this.#tell()
      const tookMs = performance.now() - this.#lookedAt
      pauseMs = Math.max(isMore ? SOON_MS : EVERY_MS, tookMs * PAUSE_PER_MS)
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot read logs that are followed; retrying')
    }
    this.#isLooking = false
    if (this.#waiting.size > 0) this.#lookIn(Math.min(LONGEST_PAUSE_MS, pauseMs))
  }

  /** Returns whether there is more than was read. */
  async #tell(): Promise<boolean> {
    const byRun = new Map<string, Waiting[]>()
    for (const waiting of this.#waiting) {
      const known = byRun.get(waiting.run.runId)
      if (known) known.push(waiting)
      else byRun.set(waiting.run.runId, [waiting])
    }
    const followed = [...byRun.values()].flatMap((all) => {
      const [first, ...others] = all
      if (!first) return []
      const after = others.reduce((min, one) => (isBehind(min, one.after) ? one.after : min), first.after)
      return { ...first.run, fence: after.fence, seq: after.seq }
    })
    const limit = Math.max(1, Math.floor(MAX_ROWS / followed.length))
    const rows = await this.#db.run(followLogs(followed, limit))
    const found = new Map<string, FollowedRow[]>()
    for (const row of rows) {
      const known = found.get(row.runId)
      if (known) known.push(row)
      else found.set(row.runId, [row])
    }
    let isMore = false
    for (const [runId, all] of byRun) {
      const ofRun = found.get(runId) ?? []
      const isFull = ofRun.length >= limit
      isMore ||= isFull
      const isOver = !isFull && ofRun[0]?.isLive === false
      for (const waiting of all) tellOne(waiting, ofRun, isOver)
    }
    return isMore
  }
}

function tellOne(waiting: Waiting, rows: readonly FollowedRow[], isOver: boolean): void {
  const news = rows.filter((row) => {
    if (row.seq === null) return false
    if (row.omittedLines !== null)
      return row.fence !== waiting.omitted?.fence || row.omittedLines !== waiting.omitted.lines
    return isBehind({ ...row, line: 0 }, waiting.after)
  })
  if (news.length > 0 || isOver) waiting.resolve({ rows: news, isOver })
}
