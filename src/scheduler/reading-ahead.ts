/**
 * Reads a little ahead, so that rows are in the queue before they are due. Hints about new rows trigger a read of the new part
 * at once; regular passes find the rows of lost hints.
 */
import type { KeptDefinition } from '../core/task/task.ts'
import type { Clock } from '../runtime/clock.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { type DueRow, lookAhead } from '../store/agenda/look-ahead.ts'
import type { Database } from '../store/database/database.ts'
import type { SetAside } from '../store/database/set-aside.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import { LOCAL, type LocalWorker } from '../transport/local-worker.ts'
import type { DueHint } from '../transport/wake-ups.ts'
import { crowdsIn, type FullShard, fullShards } from './crowds.ts'
import type { Due, DueQueue } from './due-queue.ts'
import { Horizon, type Range, type Reading } from './horizon.ts'
import type { InFlight } from './in-flight.ts'
import type { ShardLeases } from './shard-leases.ts'

export interface ReadingAheadOptions {
  readonly db: Database
  readonly definitions: Definitions
  readonly clock: Clock
  readonly log: Logger
  readonly leases: ShardLeases
  readonly worker: LocalWorker | null
  /** How far ahead rows are read. */
  readonly lookAheadMs: number
  /** How often rows are read ahead. */
  readonly lookEveryMs: number
  /** Rows read in one pass over all shards; if there are more, the next pass waits until these are fired. */
  readonly lookRows: number
}

/** The rows already in hand, and the callbacks of the scheduler. */
export interface ReadingAheadParts {
  readonly queue: DueQueue
  readonly inFlight: InFlight
  readonly aside: SetAside<Pick<Due, 'row'>>
  /** Rows that were read and are still to be fired. */
  inHand(): number
  hasRead(): void
}

/** Each pass rereads this much of the time before the previous pass, to find the rows of lost hints. */
const LOOK_BACK_MS = 4_000
/** While more is waiting than was read, it is read at least this often. */
const LONGEST_CUT_MS = 1_000
/** Interval at which all due rows are read, however old. */
const FULL_PASS_MS = 30_000
const LEAST_ROWS_PER_SHARD = 50
/** More rows are read when fewer than this are in hand. */
const LOW_WATER = 6_000
/** Definitions are read for this many rows at a time, so that the first rows are fired while the next are read. */
const CHUNK = 1_000

export class ReadingAhead implements Service {
  readonly #options: ReadingAheadOptions
  readonly #parts: ReadingAheadParts
  readonly #horizon: Horizon
  readonly #loop: Loop
  /** Number of shards that held more rows than were read; the next read reads more rows of each of these. */
  #fullShards = 0

  constructor(options: ReadingAheadOptions, parts: ReadingAheadParts) {
    this.#options = options
    this.#parts = parts
    const { lookAheadMs, lookEveryMs: everyMs, log } = options
    const lookBackMs = everyMs + LOOK_BACK_MS
    this.#horizon = new Horizon({ lookAheadMs, lookBackMs, everythingEveryMs: FULL_PASS_MS })
    this.#loop = new Loop({ name: 'look ahead', everyMs, log, runOnce: () => this.runOnce() })
  }

  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** The instant up to which everything that comes due has been read. */
  get readUntil(): number {
    return this.#horizon.readUntil
  }

  hint(hints: readonly DueHint[]): void {
    if (this.#horizon.hint(hints, this.#options.clock.now())) this.#loop.wake()
  }

  /** Reads everything again, however long ago it was due. */
  readEverything(): void {
    this.#horizon.reset()
    this.#loop.wake()
  }

  /** Reads on if the last read was cut off. Only firing makes room: without it, another read would return the same rows. */
  readOnIfCut(): void {
    if (this.#horizon.isCut && this.#parts.inHand() <= LOW_WATER) this.#loop.wake()
  }

  /** One reading pass. */
  async runOnce(): Promise<number | undefined> {
    const { clock, leases, lookRows } = this.#options
    const { inFlight, inHand } = this.#parts
    const shards = leases.ids
    if (shards.length === 0) return undefined
    const ranges = this.#horizon.plan(clock.now(), shards, inHand() > LOW_WATER)
    for (const [i, range] of ranges.entries()) {
      const share = Math.ceil(lookRows / (this.#fullShards || range.shards.length))
      const limitPerShard = Math.max(LEAST_ROWS_PER_SHARD, share)
      inFlight.readingBegins()
      try {
        this.#horizon.settle(range, await this.#readRange(range, limitPerShard))
      } catch (error) {
        for (const unread of ranges.slice(i)) this.#horizon.giveBack(unread)
        throw error
      } finally {
        inFlight.readingEnds()
      }
    }
    return this.#horizon.isCut ? LONGEST_CUT_MS : undefined
  }

  /** Reads a range; for the part ahead, also reads past the crowds. */
  async #readRange(range: Range, limitPerShard: number): Promise<Reading> {
    const full = await this.#readPart(range, limitPerShard)
    if (full.length > 0 || range.kind !== 'ahead') this.#fullShards = full.length
    const crowds = range.kind === 'ahead' ? crowdsIn(full) : []
    if (crowds.length === 0) return { isCut: full.length > 0 }
    for (const { at, shards } of crowds) {
      const beyond = await this.#readPart({ ...range, shards, from: at + 1 }, limitPerShard)
      if (beyond.length > 0) return { isCut: true }
    }
    const instants = crowds.map(({ at }) => at)
    // Instants were rounded to milliseconds when they were read.
    return {
      isCut: false,
      passed: { from: Math.min(...instants) - 1, until: Math.max(...instants) + 1 },
    }
  }

  /** Reads a range into the queue; returns the shards that held more rows than were read. */
  async #readPart(range: Range, limitPerShard: number): Promise<FullShard[]> {
    const except = this.#knownIn(range)
    const rows = await this.#options.db.run(lookAhead({ ...range, limitPerShard, except }))
    await this.#enqueue(rows)
    return fullShards(rows, limitPerShard)
  }

  /**
   * Returns the runs that a read should exclude. If more is waiting than one read returns, rows already in hand would be found
   * again ahead of the rest and cost as much. A hint is read without exclusions, because the rows in hand may be in an earlier
   * state. Rows in hand for a later time are not excluded either: if the read finds one, it was moved forward, and a hint about
   * it may have been lost.
   */
  #knownIn({ kind, until }: Range): string[] {
    if (kind === 'hinted' || this.#fullShards === 0) return []
    const { queue, inFlight, aside } = this.#parts
    return [...queue.runIdsBefore(until), ...inFlight.runIds, ...aside.restingIds]
  }

  /** Adds rows that are not in the queue yet, with the definitions of their tasks. */
  async #enqueue(rows: readonly DueRow[]): Promise<void> {
    const { queue, inFlight, aside, hasRead } = this.#parts
    const isNew = (row: DueRow) => !inFlight.covers(row) && !queue.holds(row) && !aside.isResting({ row })
    const news = rows.filter(isNew)
    for (let i = 0; i < news.length; i += CHUNK) {
      const chunk = news.slice(i, i + CHUNK)
      const definitions = await this.#options.definitions.of(chunk)
      for (const [n, row] of chunk.entries()) {
        const definition = definitions[n]
        if (definition) queue.add(this.#dueOf(row, definition))
      }
      hasRead()
    }
  }

  #dueOf(row: DueRow, definition: KeptDefinition): Due {
    const { worker } = this.#options
    return { row, definition, line: worker?.lineOf(definition) ?? LOCAL }
  }
}
