/**
 * Fires what comes due in this node's shards. It reads a little ahead, keeps what it read in order of
 * time, and sleeps until the earliest instant; hints about new rows make it read the new part at once,
 * and regular passes find whatever a lost hint was about. Nothing here is the truth: a scheduler that
 * dies takes only its own copy of the agenda with it.
 */

import { uuidv7 } from '../core/ids.ts'
import type { TaskDefinition } from '../core/task.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import {
  type Decision,
  type DueRow,
  type Firing,
  fire,
  fireAsTheyAre,
  JUST_RUN,
  lookAhead,
} from '../store/agenda.ts'
import type { Database } from '../store/database.ts'
import type { Definitions } from '../store/definitions.ts'
import type { LocalWorker, Room } from '../transport/local-worker.ts'
import type { Work } from '../transport/transport.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'
import { decide } from './decide.ts'
import { DueQueue } from './due-queue.ts'
import { Horizon } from './horizon.ts'
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
/** Rows read in one pass over all shards; when there are more, the next pass waits until these are fired. */
const ROWS_READ = 8_000
const LEAST_ROWS_PER_SHARD = 50
/** With fewer rows than this in hand, more are read. */
const LOW_WATER = 1_500
/** How long what is due may wait for room in the worker of this process before others are asked. */
const PATIENCE_MS = { alone: 1_000, amongOthers: 50 }
const WAIT_FOR_ROOM_MS = 2
/** A timer is never set further ahead than this, so that a clock that was set is noticed. */
const LONGEST_SLEEP_MS = 1_000

export class Scheduler implements Service {
  readonly #options: SchedulerOptions
  readonly #queue = new DueQueue()
  readonly #horizon: Horizon
  readonly #reading: Loop
  readonly #firing: Loop
  /** Being fired right now: reading them again would fire them twice, in vain. */
  readonly #inFlight = new Set<string>()

  constructor(options: SchedulerOptions) {
    this.#options = options
    const { log, leases, wakeUps, lookAheadMs } = options
    this.#horizon = new Horizon({ lookAheadMs, lookBackMs: LOOK_BACK_MS, everythingEveryMs: FULL_PASS_MS })
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
  async readAhead(): Promise<undefined> {
    const { db, clock, leases } = this.#options
    const shards = leases.ids
    if (shards.length === 0) return
    const ranges = this.#horizon.plan(clock.now(), shards, this.#queue.size > LOW_WATER)
    for (const [i, range] of ranges.entries()) {
      const limitPerShard = Math.max(LEAST_ROWS_PER_SHARD, Math.ceil(ROWS_READ / range.shards.length))
      try {
        const rows = await db.run(lookAhead({ ...range, limitPerShard }))
        for (const row of rows) if (!this.#inFlight.has(row.runId)) this.#queue.add(row)
        this.#horizon.settle(range, hasFullShard(rows, limitPerShard))
        if (rows.length > 0) this.#firing.wake()
      } catch (error) {
        for (const unread of ranges.slice(i)) this.#horizon.giveBack(unread)
        throw error
      }
    }
  }

  /** One firing pass; answers how long to sleep until the next. */
  async fireDue(): Promise<number> {
    const { clock, leases } = this.#options
    const now = clock.now()
    const limit = this.#howManyToFire(now)
    if (limit === 0) return WAIT_FOR_ROOM_MS
    const rows = this.#takeFirst(now + LEAD_MS, limit).filter((row) => leases.get(row.shard))
    // Only what was fired makes room for what was cut off: without that, reading again would find the same.
    if (rows.length > 0 && this.#horizon.isCut && this.#queue.size <= LOW_WATER) this.#reading.wake()
    if (rows.length > 0) await this.#fire(rows)
    const nextAt = this.#queue.nextAt
    return nextAt === undefined ? LONGEST_SLEEP_MS : Math.max(0, nextAt - LEAD_MS - clock.now())
  }

  /** What goes first of what is due: when there is not room for all of it, by priority and not by chance. */
  #takeFirst(upTo: number, limit: number): DueRow[] {
    const due = this.#queue.takeDue(upTo, FIRE_BATCH)
    if (due.length <= limit) return due
    due.sort((a, b) => a.priority - b.priority || a.wakeAt - b.wakeAt)
    for (const row of due.splice(limit)) this.#queue.add(row)
    return due
  }

  /**
   * A run that waits in ready costs twice what one costs that starts from its fire. While the worker here
   * is about to have room, what is due waits for it, for a moment, rather than for somebody to claim it.
   */
  #howManyToFire(now: number): number {
    const { worker, leases } = this.#options
    const nextAt = this.#queue.nextAt
    if (!worker || nextAt === undefined || nextAt > now + LEAD_MS) return FIRE_BATCH
    const patienceMs = leases.hasOtherWorkers ? PATIENCE_MS.amongOthers : PATIENCE_MS.alone
    return now - nextAt > patienceMs ? FIRE_BATCH : Math.min(FIRE_BATCH, worker.room)
  }

  async #fire(rows: readonly DueRow[]): Promise<void> {
    const { definitions, worker } = this.#options
    for (const { runId } of rows) this.#inFlight.add(runId)
    let reserved = 0
    try {
      const decided = this.#decideAll(rows, await definitions.of(rows))
      const room = worker?.reserve(decided.length) ?? { free: 0, ahead: 0 }
      reserved = room.free + room.ahead
      const started = await this.#send(withRoom(decided, room, (lane) => worker?.serves(lane)))
      worker?.release(reserved - started.length)
      reserved = 0
      worker?.begin(started)
    } catch (error) {
      worker?.release(reserved)
      worker?.doubt()
      for (const row of rows) this.#queue.add(row)
      throw error
    } finally {
      for (const { runId } of rows) this.#inFlight.delete(runId)
    }
  }

  /** Fires what was decided and answers what the worker of this process shall start. */
  async #send(firings: readonly PlannedFiring[]): Promise<Work[]> {
    const { db, nodeId, worker, wakeUps, leases } = this.#options
    if (firings.length === 0) return []
    const shards = [...new Set(firings.map(({ row }) => row.shard))].flatMap((id) => leases.get(id) ?? [])
    const statement = firings.every(({ decision }) => decision === JUST_RUN) ? fireAsTheyAre : fire
    const [result] = await db.run(statement({ nodeId, shards, workerId: worker?.id ?? null, firings }))
    const gone = new Set(result?.gone)
    const blocked = new Set(result?.blocked)

    const started: Work[] = []
    let isQueued = false
    for (const { row, decision, definition, startNow } of firings) {
      if (gone.has(row.runId)) {
        // It may only have been edited since it was read; then it is still due.
        this.#hinted([{ shard: row.shard, at: row.wakeAt }])
        continue
      }
      const ran = !blocked.has(row.runId) && runs(decision)
      if (ran && startNow && result?.isWorkerAlive) started.push(workOf(row, decision, definition))
      else if (ran) isQueued = true
      const { next } = decision
      if (next && next.at < this.#horizon.readUntil) this.#queue.add(followerOf(row, next, ran))
    }
    if (isQueued) wakeUps.announceReady()
    return started
  }

  #decideAll(rows: readonly DueRow[], definitions: readonly (TaskDefinition | undefined)[]): Decided[] {
    const { clock, leases } = this.#options
    const now = clock.now()
    return rows.flatMap((row, i) => {
      const definition = definitions[i]
      const held = leases.get(row.shard)
      if (!definition || !held) return []
      const wasUnwatched = row.scheduledFor > held.unwatched.from && row.scheduledFor <= held.unwatched.to
      return [{ row, definition, decision: decide({ row, definition, now, wasUnwatched, newId: uuidv7 }) }]
    })
  }

  #hinted(hints: readonly DueHint[]): void {
    if (this.#horizon.hint(hints, this.#options.clock.now())) this.#reading.wake()
  }

  #shardsChanged(): void {
    this.#queue.retain((shard) => this.#options.leases.get(shard) !== undefined)
    this.#horizon.reset()
    this.#reading.wake()
  }
}

interface Decided {
  readonly row: DueRow
  readonly definition: TaskDefinition
  readonly decision: Decision
}

type PlannedFiring = Decided & Firing

const runs = ({ skip, runFor }: Decision) => skip === null || runFor !== null

/** Gives the room there is to what goes first; what must start at once or not at all gets only free places. */
function withRoom(decided: readonly Decided[], room: Room, serves: LocalWorker['serves']): PlannedFiring[] {
  let { free, ahead } = room
  return [...decided].sort(byPriority).map(({ row, definition, decision }) => {
    const place = runs(decision) ? serves(row.lane) : undefined
    let startNow = false
    if (place && free > 0) {
      free--
      startNow = true
    } else if (place === 'ahead' && ahead > 0) {
      ahead--
      startNow = true
    }
    return { row, definition, decision, startNow }
  })
}

const byPriority = (a: Decided, b: Decided) => a.row.priority - b.row.priority || a.row.wakeAt - b.row.wakeAt

/** The claim that the fire has granted: its statement did not answer rows that are as they were asked for. */
function workOf(row: DueRow, { runFor }: Decision, definition: TaskDefinition): Work {
  const { runId, taskId, version, losses } = row
  const scheduledFor = runFor ?? row.scheduledFor
  return {
    runId,
    taskId,
    version,
    definition,
    scheduledFor,
    fence: row.fence + 1,
    attempt: row.attempt + 1,
    losses,
  }
}

/** The row that the fire has just written, as reading it would show it. */
function followerOf(
  { taskId, shard, version, ordinal, lane, priority }: DueRow,
  next: { runId: string; at: number },
  ran: boolean,
): DueRow {
  return {
    runId: next.runId,
    taskId,
    shard,
    version,
    ordinal: ordinal + (ran ? 1 : 0),
    kind: 'occurrence',
    state: 'scheduled',
    wakeAt: next.at,
    scheduledFor: next.at,
    fence: 0,
    attempt: 0,
    losses: 0,
    lane,
    priority,
  }
}

function hasFullShard(rows: readonly DueRow[], limitPerShard: number): boolean {
  if (rows.length < limitPerShard) return false
  const counts = new Map<number, number>()
  for (const { shard } of rows) counts.set(shard, (counts.get(shard) ?? 0) + 1)
  return Math.max(...counts.values()) >= limitPerShard
}
