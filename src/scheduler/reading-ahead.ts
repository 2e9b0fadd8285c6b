/**
 * Reads a little ahead: what comes due soon is in the queue before it is due. Hints about new rows make it read the new part at once, and
 * regular passes find whatever a lost hint was about.
 */
import type { KeptDefinition } from '../core/task/task.ts'
import type { Clock } from '../runtime/clock.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { type DueRow, lookAhead } from '../store/agenda/agenda.ts'
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
  /** How often that is done. */
  readonly lookEveryMs: number
  /** Rows read in one pass over all shards; when there are more, the next pass waits until these are fired. */
  readonly lookRows: number
}

/** What is in hand already, and who wants to know that there is more. */
export interface ReadingAheadParts {
  readonly queue: DueQueue
  readonly inFlight: InFlight
  readonly aside: SetAside<Pick<Due, 'row'>>
  /** Rows that were read and are still to be fired. */
  inHand(): number
  hasRead(): void
}

/** Each pass reads this much again of what was past at the one before: what a lost hint was about is found here. */
const LOOK_BACK_MS = 4_000
/** While more is waiting than was read, it is looked for this often, however seldom it is otherwise. */
const LONGEST_CUT_MS = 1_000
/** And this often everything, however long ago it was due. */
const FULL_PASS_MS = 30_000
const LEAST_ROWS_PER_SHARD = 50
/** With fewer rows than this in hand, more are read. */
const LOW_WATER = 6_000
/** Definitions are read for so many rows at a time: the first are fired while the next are read. */
const CHUNK = 1_000

export class ReadingAhead implements Service {
  readonly #options: ReadingAheadOptions
  readonly #parts: ReadingAheadParts
  readonly #horizon: Horizon
  readonly #loop: Loop
  /** Shards that held more than was read of them: the next look reads more of these few. */
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

  /** Up to when everything that comes due was read. */
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

  /** Only what was fired makes room for what was cut off: without that, reading again would find the same. */
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

  /** Reads a range, and the part ahead also behind what crowds it. */
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
    // Instants are rounded to milliseconds here.
    return {
      isCut: false,
      passed: { from: Math.min(...instants) - 1, until: Math.max(...instants) + 1 },
    }
  }

  /** Takes in what a range holds; answers the shards that held more than was read. */
  async #readPart(range: Range, limitPerShard: number): Promise<FullShard[]> {
    const except = this.#knownIn(range)
    const rows = await this.#options.db.run(lookAhead({ ...range, limitPerShard, except }))
    await this.#enqueue(rows)
    return fullShards(rows, limitPerShard)
  }

  /**
   * With more waiting than is read at once, what is in hand already would be found again in front of the rest, and
   * costs as much as the rest. A hint is followed to all there is: what it is about may be in hand as it was before. And
   * what is in hand for later than is read now has been woken, should it be found: a hint about it may have been lost.
   */
  #knownIn({ kind, until }: Range): string[] {
    if (kind === 'hinted' || this.#fullShards === 0) return []
    const { queue, inFlight, aside } = this.#parts
    return [...queue.runIdsBefore(until), ...inFlight.runIds, ...aside.restingIds]
  }

  /** Puts rows in the queue that are not there yet, with what their tasks say. */
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
