/**
 * Fires what comes due in this node's shards. It reads a little ahead, keeps what it read in order of
 * time, and sleeps until the earliest instant; hints about new rows make it read the new part at once,
 * and regular passes find whatever a lost hint was about. Nothing here is the truth: a scheduler that
 * dies takes only its own copy of the agenda with it.
 */

import { uuidv7 } from '../core/ids.ts'
import { stretchAt } from '../core/policy/misfire.ts'
import { type SideLane, sideLaneOf } from '../core/run/lane.ts'
import type { KeptDefinition } from '../core/task/task.ts'
import type { Clock } from '../runtime/clock.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { inTurns, Turns } from '../runtime/turns.ts'
import {
  type DueRow,
  type FireResult,
  fire,
  firePlain,
  fireRecurring,
  lookAhead,
  ONE_ROW_AN_OCCURRENCE,
} from '../store/agenda/agenda.ts'
import { recover } from '../store/agenda/catch-up.ts'
import { limitWaits } from '../store/agenda/expiry.ts'
import { fireWithOverlap, type HeldRow, type TurnResult } from '../store/agenda/fire-with-overlap.ts'
import { type Database, mayHaveBeenCarriedOut, violatedConstraint } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import { SideLaneRegistry } from '../transport/lane-registry.ts'
import { LOCAL, type LocalWorker } from '../transport/local-worker.ts'
import type { Work } from '../transport/transport.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'
import type { BlackoutBook } from './blackout-book.ts'
import { CatchUp } from './catch-up.ts'
import { crowdsIn, type FullShard, fullShards } from './crowds.ts'
import { type DueCase, decide, decideSteps, dueInstant, mayTakeLong } from './decide.ts'
import { type Due, type DueLine, DueQueue } from './due-queue.ts'
import { Duties, type Duty } from './duties.ts'
import {
  type Decided,
  followerOf,
  type Group,
  grouped,
  type PlannedFiring,
  runs,
  waitingOf,
  waitsOf,
  withRoom,
  workOf,
} from './firing.ts'
import { Horizon, type Range, type Reading } from './horizon.ts'
import { InFlight } from './in-flight.ts'
import { Lead } from './lead.ts'
import { Overflows } from './overflows.ts'
import { Recovering } from './recovering.ts'
import type { ShardLeases } from './shard-leases.ts'
import { Superseding } from './superseding.ts'

export interface SchedulerOptions {
  readonly nodeId: string
  readonly db: Database
  readonly definitions: Definitions
  readonly clock: Clock
  readonly log: Logger
  readonly leases: ShardLeases
  readonly wakeUps: WakeUps
  readonly blackouts: BlackoutBook
  /** The worker of this process, if it has one. */
  readonly worker: LocalWorker | null
  /** Does to a task what a row asks for that has come due and is no run. */
  carryOut(duty: Duty): Promise<void>
  /** How far ahead rows are read. */
  readonly lookAheadMs: number
  /** How often that is done. */
  readonly lookEveryMs: number
  /** Rows read in one pass over all shards; when there are more, the next pass waits until these are fired. */
  readonly lookRows: number
  /** Rows fired by one statement. */
  readonly fireBatch: number
  /** What came due in an unwatched stretch no longer than this simply runs late, whatever the misfire policy. */
  readonly misfireGraceMs: number
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
/** The maximum number of due runs of a line that wait in memory for room, or the work of so many seconds if that is more. Further ones wait in ready. */
const MOST_IN_LINE = 5_000
const LONGEST_LINE_S = 30
/** While the worker here has no room, it is asked again after this time. */
const WAIT_FOR_ROOM_MS = 2
const ALL_AS_ASKED: FireResult = { isWorkerAlive: true, gone: [], blocked: [], lost: [] }
/** To decide about what was missed for longer than this may take its time. */
const LONG_MISSED_MS = 60_000
/** Deciding about a batch that is on time takes a few milliseconds; what takes longer than this, such as tasks with many triggers, gives way. */
const ON_TIME_TURN_MS = 20
/** A timer is never set further ahead than this, so that a clock that was set is noticed. */
const LONGEST_SLEEP_MS = 1_000

/** The side lanes of firings; none at all where none waits in one, as is usual. */
const sidesOf = (firings: readonly PlannedFiring[]): (number | null)[] =>
  firings.some(({ side }) => side != null) ? firings.map(({ side }) => side ?? null) : []

export class Scheduler implements Service {
  readonly #options: SchedulerOptions
  readonly #queue = new DueQueue()
  readonly #overflows = new Overflows()
  readonly #sideLanes = new SideLaneRegistry()
  readonly #horizon: Horizon
  readonly #lead = new Lead()
  readonly #reading: Loop
  readonly #firing: Loop
  readonly #recovering: Recovering
  readonly #superseding: Superseding
  readonly #late: CatchUp
  readonly #duties: Duties
  readonly #inFlight = new InFlight()
  /** Rows that PostgreSQL refuses to fire: the others of their batch go on without them. */
  readonly #aside: SetAside<Pick<Due, 'row'>>
  /** Shards that held more than was read of them: the next look reads more of these few. */
  #fullShards = 0

  constructor(options: SchedulerOptions) {
    this.#options = options
    const { db, log, leases, wakeUps, lookAheadMs, lookEveryMs: everyMs } = options
    this.#aside = new SetAside({
      ...{ operation: 'fire', db, log },
      subjectOf: ({ row: { runId, taskId } }) => ({ id: runId, runId, taskId }),
    })
    const lookBackMs = everyMs + LOOK_BACK_MS
    this.#horizon = new Horizon({ lookAheadMs, lookBackMs, everythingEveryMs: FULL_PASS_MS })
    this.#reading = new Loop({ name: 'look ahead', everyMs, log, runOnce: () => this.readAhead() })
    this.#firing = new Loop({ name: 'fire', everyMs: LONGEST_SLEEP_MS, log, runOnce: () => this.fireDue() })
    this.#recovering = new Recovering(options, {
      isBusy: (taskId) => this.#isBusy(taskId),
      reserve: ({ row }) => this.#inFlight.reserve(row),
      fire: (dues) => this.#fire(dues),
      hasFired: () => this.#readOnIfCut(),
    })
    this.#superseding = new Superseding(options)
    this.#duties = new Duties(options)
    this.#late = new CatchUp(options, {
      isBusy: (taskId) => this.#inFlight.isBusy(taskId),
      decide: (dues) => this.#decideAtOnce(dues),
      aside: this.#aside,
    })
    leases.onChange(() => this.#shardsChanged())
    wakeUps.onDue((hints) => this.#hinted(hints))
  }

  start(): void {
    this.#superseding.start()
    this.#late.start()
    this.#duties.start()
    this.#reading.start()
    this.#firing.start()
    this.#recovering.start()
  }

  async stop(): Promise<void> {
    await this.#reading.stop()
    await this.#firing.stop()
    await this.#recovering.stop()
    await this.#superseding.stop()
    await this.#late.stop()
    await this.#duties.stop()
  }

  /** One reading pass. */
  async readAhead(): Promise<number | undefined> {
    const { clock, leases, lookRows } = this.#options
    const shards = leases.ids
    if (shards.length === 0) return undefined
    const ranges = this.#horizon.plan(clock.now(), shards, this.#inHand > LOW_WATER)
    for (const [i, range] of ranges.entries()) {
      const share = Math.ceil(lookRows / (this.#fullShards || range.shards.length))
      const limitPerShard = Math.max(LEAST_ROWS_PER_SHARD, share)
      this.#inFlight.readingBegins()
      try {
        this.#horizon.settle(range, await this.#readRange(range, limitPerShard))
      } catch (error) {
        for (const unread of ranges.slice(i)) this.#horizon.giveBack(unread)
        throw error
      } finally {
        this.#inFlight.readingEnds()
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
    return [...this.#queue.runIdsBefore(until), ...this.#inFlight.runIds, ...this.#aside.restingIds]
  }

  /** Puts rows in the queue that are not there yet, with what their tasks say. */
  async #enqueue(rows: readonly DueRow[]): Promise<void> {
    const isNew = (row: DueRow) =>
      !this.#inFlight.covers(row) && !this.#queue.holds(row) && !this.#aside.isResting({ row })
    const news = rows.filter(isNew)
    for (let i = 0; i < news.length; i += CHUNK) {
      const chunk = news.slice(i, i + CHUNK)
      const definitions = await this.#options.definitions.of(chunk)
      for (const [n, row] of chunk.entries()) {
        const definition = definitions[n]
        if (definition) this.#queue.add(this.#dueOf(row, definition))
      }
      this.#firing.wake()
    }
  }

  #dueOf(row: DueRow, definition: KeptDefinition): Due {
    const { worker } = this.#options
    return { row, definition, line: worker?.lineOf(definition) ?? LOCAL }
  }

  /** Whether a row of the task is being fired, on time or late. */
  #isBusy(taskId: string): boolean {
    return this.#late.isBusy(taskId) || this.#inFlight.isBusy(taskId)
  }

  /** Rows that were read and are still to be fired. */
  get #inHand(): number {
    return this.#queue.size + this.#recovering.size
  }

  /** One firing pass; answers how long to sleep until the next. */
  async fireDue(): Promise<number> {
    const { clock, leases } = this.#options
    const now = clock.now()
    const { least, most } = this.#lead.at(performance.now())
    const taken = this.#queue
      .takeDue(now + most, {
        limit: this.#options.fireBatch,
        isBusy: (taskId) => this.#isBusy(taskId),
        roomFor: (line) => this.#howManyToFire(line, now),
      })
      .filter(({ row }) => leases.get(row.shard))
    const dues = this.#recovering.setAside(taken)
    if (taken.length > 0) this.#readOnIfCut()
    if (dues.length > 0) await this.#fire(dues)
    else if (taken.length > 0) return 0
    else if ((this.#queue.nextAt ?? Number.POSITIVE_INFINITY) <= now + most) return WAIT_FOR_ROOM_MS
    const nextAt = this.#queue.nextAt
    return nextAt === undefined ? LONGEST_SLEEP_MS : Math.max(0, nextAt - least - clock.now())
  }

  /** Only what was fired makes room for what was cut off: without that, reading again would find the same. */
  #readOnIfCut(): void {
    if (this.#horizon.isCut && this.#inHand <= LOW_WATER) this.#reading.wake()
  }

  /** How many of what is due of a line. */
  #howManyToFire({ line, count, dueSince }: DueLine, now: number): number {
    const { worker, leases, fireBatch } = this.#options
    if (!worker) return fireBatch
    const room = worker.room(line)
    if (room >= count) {
      this.#overflows.forget(line)
      return room
    }
    const [claimed, isReadyBehind] = [worker.claimed(line), worker.isReadyBehind(line)]
    const isTooLong = count > Math.max(MOST_IN_LINE, worker.pace(line) * LONGEST_LINE_S)
    const shortage = {
      now,
      dueSince,
      room,
      claimed,
      isReadyBehind,
      isTooLong,
      hasOthers: leases.hasOtherWorkers,
    }
    return room + this.#overflows.of(line).allowed(shortage, fireBatch)
  }

  async #fire(due: readonly Due[]): Promise<void> {
    const { worker } = this.#options
    const dues = due.filter((one) => !this.#isDuty(one))
    for (const { row } of dues) this.#inFlight.begin(row)
    await this.#learnProjects(dues)
    const decided = await this.#decideAboutAll(dues)
    const sides = await this.#sidesOf(decided)
    const groups = grouped(withRoom(decided, { worker, sideOf: (each) => sides.get(each) ?? null }))
    const results = await Promise.allSettled(groups.map((group) => this.#fireGroup(group)))
    for (const { row } of dues) this.#inFlight.end(row)
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /** The side lanes of those whose line has had no room for long. Runs of a key start in strict order, so they wait in its own lane. */
  async #sidesOf(decided: readonly Decided[]): Promise<ReadonlyMap<Decided, number>> {
    const { worker, db } = this.#options
    const sides = new Map<Decided, SideLane>()
    if (worker === null || worker.isBacklogged) return new Map()
    for (const due of decided) {
      const { row, definition, line = LOCAL } = due
      if (definition.concurrencyKey === null && this.#overflows.isStuck(line))
        sides.set(due, sideLaneOf(row.lane, line.name))
    }
    if (sides.size === 0) return new Map()
    const known = await this.#sideLanes.ensure(db, [...sides.values()])
    return new Map([...sides].flatMap(([due, { id }]) => (known.has(id) ? [[due, id]] : [])))
  }

  /** Whether a blackout is in force depends on the project, which is asked for only while there are any. */
  async #learnProjects(dues: readonly Due[]): Promise<void> {
    const { blackouts } = this.#options
    if (blackouts.isEmpty) return
    try {
      await blackouts.learn(dues.map(({ row }) => row))
    } catch (error) {
      for (const due of dues) {
        this.#inFlight.end(due.row)
        this.#queue.add(due)
      }
      throw error
    }
  }

  /** What is to be done to a task rather than run is handed on; its row goes when it has been done. */
  #isDuty({ row }: Due): boolean {
    if (row.kind !== 'resume' && row.kind !== 'skip') return false
    this.#duties.add(row)
    return true
  }

  async #fireGroup(group: Group): Promise<void> {
    const { worker } = this.#options
    const done: (readonly PlannedFiring[])[] = []
    try {
      const refused = await this.#aside.each(group.firings, async (part) => {
        const firings = part as readonly PlannedFiring[]
        await this.#firePart({ ...group, firings })
        done.push(firings)
      })
      this.#release(refused as readonly PlannedFiring[])
    } catch (error) {
      const known = new Set(done.flat())
      const unknown = group.firings.filter((firing) => !known.has(firing))
      this.#release(unknown)
      if (mayHaveBeenCarriedOut(error)) worker?.doubt()
      for (const { row, definition, line } of unknown)
        this.#queue.add({ row, definition, line: line ?? LOCAL })
      // It may have been carried out all the same, and what it wrote is known to nobody.
      this.#readEverything()
      throw error
    }
  }

  async #firePart(group: Group): Promise<void> {
    const { worker } = this.#options
    await this.#limitWaits(group.firings)
    const begunAt = performance.now()
    const result = await this.#send(group)
    const endedAt = performance.now()
    if (group.how !== 'recover') this.#lead.measure(endedAt - begunAt, group.firings.length, endedAt)
    const started = this.#settle(group.firings, result)
    if (started.length < group.firings.length) {
      const begun = new Set(started.map(({ runId }) => runId))
      this.#release(group.firings.filter(({ row }) => !begun.has(row.runId)))
    }
    worker?.begin(started)
  }

  /** Gives back the room of what does not start after all. */
  #release(firings: readonly PlannedFiring[]): void {
    for (const { startNow, line } of firings) if (startNow) this.#options.worker?.release(line ?? LOCAL, 1)
  }

  /** Runs that may wait only so long are noted before they are fired; few tasks ask for it. */
  async #limitWaits(firings: readonly PlannedFiring[]): Promise<void> {
    const waits = waitsOf(firings)
    if (waits.length > 0) await this.#options.db.run(limitWaits(waits))
  }

  async #send({ how, firings }: Group): Promise<FireResult | TurnResult | undefined> {
    const { db, nodeId, worker, leases } = this.#options
    const shards = [...new Set(firings.map(({ row }) => row.shard))].flatMap((id) => leases.get(id) ?? [])
    const rows = firings.map(({ row }) => row)
    const workerId = worker && how !== 'queue' ? worker.id : null
    if (how === 'recover') {
      const [result] = await db.run(recover({ nodeId, shards, workerId, firings }))
      return result
    }
    if (how === 'turn') {
      const [result] = await db.run(fireWithOverlap({ nodeId, shards, workerId, firings }))
      return result
    }
    if (how === 'follow' && workerId !== null) {
      const [followed] = await db.run(fireRecurring({ nodeId, shards, workerId, firings })).catch((error) => {
        if (violatedConstraint(error) !== ONE_ROW_AN_OCCURRENCE) throw error
        return [{ left: rows.map(({ runId }) => runId) }]
      })
      const left = new Set(followed?.left)
      if (left.size === 0) return ALL_AS_ASKED
      return this.#send({ how: 'each', firings: firings.filter(({ row }) => left.has(row.runId)) })
    }
    const [result] = await db.run(
      how === 'start' || how === 'queue'
        ? firePlain({ nodeId, shards, workerId, rows, sides: sidesOf(firings) })
        : fire({ nodeId, shards, workerId, firings }),
    )
    return result
  }

  /** Takes in what came of a fire; answers what the worker of this process shall start. */
  #settle(firings: readonly PlannedFiring[], result: FireResult | TurnResult | undefined): Work[] {
    const { wakeUps, leases, clock, worker } = this.#options
    const gone = new Set(result?.gone)
    const blocked = new Set(result?.blocked)
    const held = new Map(result && 'held' in result ? result.held.map((row) => [row.runId, row]) : [])
    const started: Work[] = []
    let isQueued = false
    // What is due already must not wait for a pass that reaches so far back, also while nothing was read ahead yet.
    const knownUntil = Math.max(this.#horizon.readUntil, clock.now())
    for (const firing of firings) {
      const { row, decision, definition, startNow, line = LOCAL } = firing
      if (gone.has(row.runId)) {
        // It may only have been edited since it was read; then it is still due.
        this.#hinted([{ shard: row.shard, at: row.wakeAt }])
        continue
      }
      const ran = !blocked.has(row.runId) && runs(decision)
      const waiting = held.get(row.runId)
      if (waiting) this.#wait(firing, waiting)
      else if (ran && startNow && result?.isWorkerAlive) started.push(workOf(firing))
      else if (ran && firing.side == null) isQueued = true
      else if (ran) worker?.putAside(line)
      const { next, isLast, recovery } = decision
      if (recovery) this.#late.wake()
      if (next && !((ran || recovery) && isLast) && next.at + (next.jitterMs ?? 0) < knownUntil)
        this.#queue.add({
          row: followerOf(row, next, recovery?.late.length ?? (ran ? 1 : 0)),
          definition,
          line,
        })
    }
    if (isQueued) wakeUps.announceReady()
    if (result && result.lost.length > 0) leases.forget(result.lost)
    return started
  }

  /** A row could not start: it is looked at again, at the latest when it says; what it waits for may be ended for it. */
  #wait(firing: PlannedFiring, waiting: HeldRow): void {
    const row = waitingOf(firing, waiting)
    if (row.wakeAt < this.#horizon.readUntil)
      this.#queue.add({ row, definition: firing.definition, line: firing.line ?? LOCAL })
    if (row.state === 'held' && firing.decision.turn?.supersedes) this.#superseding.add(row)
  }

  /** After an outage a decision may walk through all that a task has missed, and gives way to everything else meanwhile. */
  async #decideAboutAll(dues: readonly Due[]): Promise<Decided[]> {
    const longAgo = this.#options.clock.now() - LONG_MISSED_MS
    const turns = new Turns(dues.some(({ row }) => row.wakeAt <= longAgo) ? undefined : ON_TIME_TURN_MS)
    const decided: Decided[] = []
    for (const due of dues) {
      try {
        const asked = this.#caseOf(due)
        if (asked === null) continue
        const decision = mayTakeLong(asked) ? await inTurns(decideSteps(asked), turns) : decide(asked)
        decided.push({ ...due, decision })
      } catch (error) {
        this.#leaveUndecided(due, error)
      }
      if (turns.isOver) await turns.pass()
    }
    return decided
  }

  /** Rows about which nothing can take long to decide. */
  #decideAtOnce(dues: readonly Due[]): Decided[] {
    return dues.flatMap((due) => {
      try {
        const asked = this.#caseOf(due)
        return asked === null ? [] : [{ ...due, decision: decide(asked) }]
      } catch (error) {
        this.#leaveUndecided(due, error)
        return []
      }
    })
  }

  /** A definition that cannot be read, by a hand or a bug, costs the others nothing. */
  #leaveUndecided(due: Due, error: unknown): void {
    const { runId, taskId, version } = due.row
    this.#options.log.error({ err: error, runId, taskId, version }, 'cannot decide what to do with due runs')
    void this.#aside.refuse(due, error)
  }

  /** All that a decision depends on; null in a shard that is no longer this node's. */
  #caseOf({ row, definition }: Due): DueCase | null {
    const { leases, blackouts, clock, misfireGraceMs } = this.#options
    const held = leases.get(row.shard)
    if (!held) return null
    const missedIn = stretchAt(held.unwatched, dueInstant({ row, definition }))
    return {
      row,
      definition,
      now: clock.now(),
      missedIn,
      misfireGraceMs,
      blackouts: blackouts.of(row.taskId),
      newId: uuidv7,
    }
  }

  #hinted(hints: readonly DueHint[]): void {
    if (this.#horizon.hint(hints, this.#options.clock.now())) this.#reading.wake()
    this.#late.hint()
  }

  #shardsChanged(): void {
    const isWatched = (shard: number) => this.#options.leases.get(shard) !== undefined
    this.#queue.retain(isWatched)
    for (const { row } of this.#recovering.retain(isWatched)) this.#inFlight.giveUp(row)
    this.#readEverything()
  }

  #readEverything(): void {
    this.#horizon.reset()
    this.#reading.wake()
  }
}
