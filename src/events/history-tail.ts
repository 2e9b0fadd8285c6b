/**
 * Follows history for all followers on a node: while there are any, it reads new events a few times a second and keeps the
 * latest ones. A follower that is further behind reads history separately, page by page. Without followers nothing is done.
 */
import { covers, type EventPosition, type Frontier, hasSeen, readSnapshot } from '../core/run/frontier.ts'
import type { EventSource, HistoryEvent } from '../core/run/history-event.ts'
import type { Database } from '../store/database/database.ts'
import { currentPosition } from '../store/history/current-position.ts'
import { currentSnapshot } from '../store/history/ended-runs.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type HistoryPage, readPage } from './history-page.ts'

/** Minimum interval between reads; the pause also grows so that reads take at most a fifth of the time. */
const EVERY_MS = 250
const PAUSE_PER_MS = 4
const LONGEST_PAUSE_MS = 5_000

/** Maximum number of runs that one look keeps; beyond that, followers read the rest themselves. */
const MAX_LOOK_ROWS = 5_000
/** Maximum number of runs kept for followers that are slightly behind. */
const MAX_KEPT_ROWS = 10_000

/** The result of one look. */
interface Look {
  readonly from: Frontier
  readonly to: Frontier
  readonly rows: readonly HistoryEvent[]
}

export interface HistoryTailOptions {
  readonly db: Database
  readonly log: Logger
  /** `history` by default. */
  readonly source?: EventSource
}

export class HistoryTail {
  readonly #db: Database
  readonly #log: Logger
  readonly #source: EventSource
  /** The results of the latest looks, each beginning where the previous one ended. */
  #looks: Look[] = []
  #kept = 0
  #front: Frontier | null = null
  #followers = 0
  #begun: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #waiting = new Set<() => void>()

  constructor({ db, log, source = 'history' }: HistoryTailOptions) {
    this.#db = db
    this.#log = log
    this.#source = source
  }

  /** Begins to follow; resolves once the current position is known. Returns the function that stops following. */
  async follow(): Promise<() => void> {
    this.#followers++
    let isFollowing = true
    const stop = () => {
      if (isFollowing) this.#followers--
      isFollowing = false
      if (this.#followers === 0) this.#rest()
    }
    try {
      this.#begun ??= this.#begin()
      await this.#begun
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  /** The position behind everything that was found so far. */
  get end(): EventPosition {
    if (this.#front === null) throw new Error('history has no follower')
    return { from: this.#front, to: null, at: null }
  }

  /** Returns what comes after a position; null if there is nothing yet. The caller must be following. */
  async page(position: EventPosition): Promise<HistoryPage | null> {
    const front = this.#front
    if (position.to === null && front !== null) {
      if (covers(position.from, front))
        return (await this.#isOfAnother(position.from)) ? this.#read(position) : null
      const look = this.#looks.findLast((look) => covers(position.from, look.from))
      if (look) return pageOf(look, position.from)
    }
    return this.#read(position)
  }

  #read(position: EventPosition): Promise<HistoryPage> {
    return readPage(this.#db, position, { source: this.#source })
  }

  /**
   * Whether a frontier belongs to another history, as after a restore from a backup: it has seen more transactions than exist.
   * A frontier from another node may be slightly ahead of this node's; that one waits until this node has caught up.
   */
  async #isOfAnother({ xmax }: Frontier): Promise<boolean> {
    if (this.#front === null || xmax <= this.#front.xmax) return false
    const [seen] = await this.#db.run(currentSnapshot())
    return xmax > readSnapshot(seen?.snapshot ?? '').xmax
  }

  /** Resolves when there may be new events, or after `ms`. */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      timer.unref()
      signal.addEventListener('abort', done)
      this.#waiting.add(done)
      if (signal.aborted) done()
    })
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#begun = undefined
    this.#front = null
    this.#looks = []
    this.#kept = 0
  }

  async #begin(): Promise<void> {
    this.#front = (await currentPosition(this.#db)).from
    this.#lookIn(EVERY_MS)
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#followers === 0) return
    this.#timer = setTimeout(() => void this.#lookAgain(), ms)
    this.#timer.unref()
  }

  async #lookAgain(): Promise<void> {
    const startedAt = performance.now()
    const begun = this.#begun
    let pauseMs = LONGEST_PAUSE_MS
    try {
      if (this.#front !== null) await this.#look(this.#front, () => this.#begun === begun)
      pauseMs = Math.max(EVERY_MS, (performance.now() - startedAt) * PAUSE_PER_MS)
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot read events; retrying')
    }
    if (this.#begun === begun) this.#lookIn(Math.min(LONGEST_PAUSE_MS, pauseMs))
  }

  async #look(from: Frontier, isCurrent: () => boolean): Promise<void> {
    const rows: HistoryEvent[] = []
    let position: EventPosition = { from, to: null, at: null }
    let to: Frontier | null = null
    do {
      const page: HistoryPage = await this.#read(position)
      rows.push(...page.rows)
      position = page.next
      to = position.to ?? position.from
    } while (position.to !== null && rows.length < MAX_LOOK_ROWS)
    if (!isCurrent()) return
    this.#front = to
    if (position.to === null) this.#keep({ from, to, rows })
    else {
      this.#looks = []
      this.#kept = 0
    }
    if (rows.length > 0) for (const wake of [...this.#waiting]) wake()
  }

  /** A look that found nothing only extends the previous one. */
  #keep(look: Look): void {
    const last = this.#looks.at(-1)
    if (look.rows.length === 0 && last) this.#looks[this.#looks.length - 1] = { ...last, to: look.to }
    else this.#looks.push(look)
    this.#kept += look.rows.length
    while (this.#kept > MAX_KEPT_ROWS) this.#kept -= this.#looks.shift()?.rows.length ?? 0
  }
}

/** Returns the part of a look that a follower has not seen. */
function pageOf({ to, rows }: Look, from: Frontier): HistoryPage {
  return {
    rows: rows.filter(({ xid }) => !hasSeen(from, xid)),
    positionAt: ({ us, id }) => ({ from, to, at: { us, id } }),
    next: { from: to, to: null, at: null },
    gap: null,
  }
}
