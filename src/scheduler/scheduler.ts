/**
 * Fires what comes due in this node's shards. It reads a little ahead, keeps what it read in order of
 * time, and sleeps until the earliest instant; hints about new rows make it read the new part at once,
 * and regular passes find whatever a lost hint was about. Nothing here is the truth: a scheduler that
 * dies takes only its own copy of the agenda with it.
 */
import { uuidv7 } from '../core/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { type DueRow, type Firing, fire, lookAhead } from '../store/agenda.ts'
import type { Database } from '../store/database.ts'
import type { Definitions } from '../store/definitions.ts'
import type { LocalWorker } from '../transport/local-worker.ts'
import type { ClaimedRun } from '../transport/transport.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'
import { decide } from './decide.ts'
import { DueQueue } from './due-queue.ts'
import type { ShardLeases } from './shard-leases.ts'

export interface SchedulerOptions {
  readonly nodeId: string
  readonly db: Database
  readonly definitions: Definitions
  readonly clock: Clock
  readonly log: Logger
  readonly leases: ShardLeases
  readonly wakeUps: WakeUps
  /** The worker of this process, if it has one. */
  readonly worker: LocalWorker | null
  /** How far ahead rows are read. */
  readonly lookAheadMs: number
}

/** How often the part ahead is read. */
const PASS_MS = 1_000
/** Each pass reads this much of the past again: what a lost hint was about is found here. */
const LOOK_BACK_MS = 5_000
/** And this often everything, however long ago it was due. */
const FULL_PASS_MS = 30_000
/** Rows are fired this much before their instant; the worker holds them until it has come. */
const LEAD_MS = 20
const FIRE_BATCH = 1_000
const ROWS_READ_PER_SHARD = 500
/** A timer is never set further ahead than this, so that a clock that was set is noticed. */
const LONGEST_SLEEP_MS = 1_000

export class Scheduler implements Service {
  readonly #options: SchedulerOptions
  readonly #queue = new DueQueue()
  readonly #reading: Loop
  readonly #firing: Loop
  /** Up to which instant everything is in the queue. */
  #readUntil = 0
  /** The earliest instant that a hint was about since the last reading began. */
  #hintedAt = Number.POSITIVE_INFINITY
  #fullPassAt = 0

  constructor(options: SchedulerOptions) {
    this.#options = options
    const { log, leases, wakeUps } = options
    this.#reading = new Loop({ name: 'look ahead', everyMs: PASS_MS, log, runOnce: () => this.readAhead() })
    this.#firing = new Loop({ name: 'fire', everyMs: LONGEST_SLEEP_MS, log, runOnce: () => this.fireDue() })
    leases.onChange(() => this.#shardsChanged())
    wakeUps.onDue((hints) => this.#hinted(hints))
  }

  start(): void {
    this.#reading.start()
    this.#firing.start()
  }

  async stop(): Promise<void> {
    await this.#reading.stop()
    await this.#firing.stop()
  }

  /** One reading pass. */
  async readAhead(): Promise<number | undefined> {
    const { db, clock, leases, lookAheadMs } = this.#options
    const shards = leases.ids
    if (shards.length === 0) return undefined
    const now = clock.now()
    const until = now + lookAheadMs
    const isFull = now >= this.#fullPassAt
    const from = isFull ? null : Math.min(now - LOOK_BACK_MS, this.#readUntil, this.#hintedAt)
    // A hint that comes while the statement runs may be about a row that it does not see.
    this.#hintedAt = Number.POSITIVE_INFINITY
    const rows = await db.run(lookAhead({ shards, from, until, limitPerShard: ROWS_READ_PER_SHARD }))
    for (const row of rows) this.#queue.add(row)
    if (isFull) this.#fullPassAt = now + FULL_PASS_MS
    // A shard that had more than could be read is read again as soon as these are fired.
    const isComplete = !hasFullShard(rows)
    if (isComplete) this.#readUntil = until
    else this.#fullPassAt = Math.min(this.#fullPassAt, now)
    if (rows.length > 0) this.#firing.wake()
    return isComplete ? undefined : 10
  }

  /** One firing pass; answers how long to sleep until the next. */
  async fireDue(): Promise<number> {
    const { clock, leases } = this.#options
    const now = clock.now()
    const rows = this.#queue.takeDue(now + LEAD_MS, FIRE_BATCH).filter((row) => leases.get(row.shard))
    if (rows.length > 0) await this.#fire(rows)
    const nextAt = this.#queue.nextAt
    return nextAt === undefined ? LONGEST_SLEEP_MS : Math.max(0, nextAt - LEAD_MS - clock.now())
  }

  async #fire(rows: readonly DueRow[]): Promise<void> {
    const { definitions, worker } = this.#options
    await definitions.load(rows)
    const decided = rows.map((row) => this.#decide(row)).filter((item) => item !== undefined)
    const startable = decided.filter(({ firing }) => firing.skip === null || firing.runFor !== null).length
    const places = worker?.reserve(startable) ?? 0
    let given = 0
    const firings = decided.map(({ firing }): Firing => {
      const startNow = given < places && (firing.skip === null || firing.runFor !== null)
      if (startNow) given++
      return { ...firing, startNow }
    })
    try {
      await this.#send(decided, firings, places)
    } catch (error) {
      worker?.release(places)
      worker?.doubt()
      for (const { row } of decided) this.#queue.add(row)
      throw error
    }
  }

  async #send(
    decided: readonly { row: DueRow }[],
    firings: readonly Firing[],
    places: number,
  ): Promise<void> {
    const { db, nodeId, worker, wakeUps, leases } = this.#options
    if (firings.length === 0) return worker?.release(places)
    const shards = [...new Set(decided.map(({ row }) => row.shard))].flatMap((id) => leases.get(id) ?? [])
    const fired = new Map(
      (await db.run(fire({ nodeId, shards, workerId: worker?.id ?? null, firings }))).map((row) => [
        row.runId,
        row,
      ]),
    )

    const started: ClaimedRun[] = []
    let queued = 0
    for (const [i, { row }] of decided.entries()) {
      const result = fired.get(row.runId)
      if (!result) continue
      const { runFor, next } = firings[i] as Firing
      if (result.result === 'pending') queued++
      if (result.result === 'running')
        started.push({ ...row, ...result, scheduledFor: runFor ?? row.scheduledFor })
      if (next && next.at < this.#readUntil)
        this.#queue.add(followerOf(row, next, result.result !== 'skipped'))
    }
    worker?.release(places - started.length)
    if (started.length > 0) worker?.begin(started)
    if (queued > 0) wakeUps.announceReady()
  }

  #decide(row: DueRow): { row: DueRow; firing: Omit<Firing, 'startNow'> } | undefined {
    const { definitions, clock, leases } = this.#options
    const definition = definitions.get(row)
    const held = leases.get(row.shard)
    if (!definition || !held) return undefined
    const wasUnwatched = row.scheduledFor > held.unwatched.from && row.scheduledFor <= held.unwatched.to
    return { row, firing: decide({ row, definition, now: clock.now(), wasUnwatched, newId: uuidv7 }) }
  }

  /** A hint about the part ahead means that it must be read again; what lies beyond is read in its time. */
  #hinted(hints: readonly DueHint[]): void {
    const { leases, clock, lookAheadMs } = this.#options
    const horizon = clock.now() + lookAheadMs
    const earliest = Math.min(...hints.filter(({ shard }) => leases.get(shard)).map(({ at }) => at))
    if (earliest >= horizon) return
    this.#hintedAt = Math.min(this.#hintedAt, earliest)
    this.#reading.wake()
  }

  #shardsChanged(): void {
    this.#queue.retain((shard) => this.#options.leases.get(shard) !== undefined)
    this.#fullPassAt = 0
    this.#reading.wake()
  }
}

/** The row that the fire has just written, as reading it would show it. */
function followerOf(row: DueRow, next: { runId: string; at: number }, ran: boolean): DueRow {
  return {
    ...row,
    runId: next.runId,
    wakeAt: next.at,
    scheduledFor: next.at,
    state: 'scheduled',
    kind: 'occurrence',
    ordinal: row.ordinal + (ran ? 1 : 0),
  }
}

function hasFullShard(rows: readonly DueRow[]): boolean {
  if (rows.length < ROWS_READ_PER_SHARD) return false
  const counts = new Map<number, number>()
  for (const { shard } of rows) counts.set(shard, (counts.get(shard) ?? 0) + 1)
  return Math.max(...counts.values()) >= ROWS_READ_PER_SHARD
}
