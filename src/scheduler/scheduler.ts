/**
 * Fires what comes due in this node's shards. It reads a little ahead, keeps the rows ordered by time, and sleeps until the
 * earliest instant. Hints about new rows trigger a read of the new part at once, and regular passes find the rows of lost
 * hints. The scheduler's memory is only a copy of the agenda, so nothing is lost when it dies.
 */

import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { setQueueTimeouts } from '../store/agenda/expiry.ts'
import type { FireResult } from '../store/agenda/fire.ts'
import type { HeldRow, OverlapFireResult } from '../store/agenda/fire-with-overlap.ts'
import { mayHaveBeenCarriedOut } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import { LOCAL, type ReservedWork } from '../transport/local-worker.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'
import { CatchUp } from './catch-up.ts'
import { CatchUpWriter } from './catch-up-writer.ts'
import { Deciding, type DecidingOptions } from './deciding.ts'
import { type Due, type DueLine, DueQueue } from './due-queue.ts'
import { Duties, type Duty } from './duties.ts'
import {
  followerOf,
  type Group,
  grouped,
  type PlannedFiring,
  queueTimeoutsOf,
  runs,
  waitingOf,
  withRoom,
  workOf,
} from './firing.ts'
import { InFlight } from './in-flight.ts'
import { Lead } from './lead.ts'
import { Overflows } from './overflows.ts'
import { ReadingAhead, type ReadingAheadOptions } from './reading-ahead.ts'
import { ALL_AS_ASKED, sendFirings, startRecurring } from './send-firings.ts'
import { Sides } from './sides.ts'
import { Superseding } from './superseding.ts'

export interface SchedulerOptions extends ReadingAheadOptions, DecidingOptions {
  readonly nodeId: string
  readonly wakeUps: WakeUps
  /** Performs the action on a task that a due agenda row which is not a run asks for. */
  carryOut(duty: Duty): Promise<void>
  /** Rows fired by one statement. */
  readonly fireBatch: number
}

/**
 * The maximum number of due runs of a line that wait in memory for room, or the work of LONGEST_LINE_S seconds if that is more.
 * Further ones wait in `ready`.
 */
const MOST_IN_LINE = 5_000
const LONGEST_LINE_S = 30
/** While the worker here has no room, it is asked again after this time. */
const WAIT_FOR_ROOM_MS = 2
/** A timer is never set further ahead than this, so that a change of the clock is noticed. */
const LONGEST_SLEEP_MS = 1_000

export class Scheduler implements Service {
  readonly #options: SchedulerOptions
  readonly #queue = new DueQueue()
  readonly #overflows = new Overflows()
  readonly #sides: Sides
  readonly #ahead: ReadingAhead
  readonly #deciding: Deciding
  readonly #lead = new Lead()
  readonly #firing: Loop
  readonly #catchUpWriter: CatchUpWriter
  readonly #superseding: Superseding
  readonly #catchUp: CatchUp
  readonly #duties: Duties
  readonly #inFlight = new InFlight()
  /** Rows that PostgreSQL refuses to fire are set aside, so that the rest of their batch can continue. */
  readonly #aside: SetAside<Pick<Due, 'row'>>

  constructor(options: SchedulerOptions) {
    this.#options = options
    const { db, log, leases, wakeUps, worker } = options
    this.#sides = new Sides({ db, worker, overflows: this.#overflows })
    this.#aside = new SetAside({
      ...{ operation: 'fire', db, log },
      subjectOf: ({ row: { runId, taskId } }) => ({ id: runId, runId, taskId }),
    })
    this.#deciding = new Deciding(options, this.#aside)
    this.#ahead = new ReadingAhead(options, {
      queue: this.#queue,
      inFlight: this.#inFlight,
      aside: this.#aside,
      inHand: () => this.#inHand,
      hasRead: () => this.#firing.wake(),
    })
    this.#firing = new Loop({ name: 'fire', everyMs: LONGEST_SLEEP_MS, log, runOnce: () => this.fireDue() })
    this.#catchUpWriter = new CatchUpWriter(options, {
      isBusy: (taskId) => this.#isBusy(taskId),
      reserve: ({ row }) => this.#inFlight.reserve(row),
      fire: (dues) => this.#fire(dues),
      hasFired: () => this.#ahead.readOnIfCut(),
    })
    this.#superseding = new Superseding(options)
    this.#duties = new Duties(options)
    this.#catchUp = new CatchUp(options, {
      isBusy: (taskId) => this.#inFlight.isBusy(taskId),
      decide: (dues) => this.#deciding.atOnce(dues),
      aside: this.#aside,
    })
    leases.onChange(() => this.#shardsChanged())
    wakeUps.onDue((hints) => this.#hinted(hints))
  }

  start(): void {
    this.#superseding.start()
    this.#catchUp.start()
    this.#duties.start()
    this.#ahead.start()
    this.#firing.start()
    this.#catchUpWriter.start()
  }

  async stop(): Promise<void> {
    await this.#ahead.stop()
    await this.#firing.stop()
    await this.#catchUpWriter.stop()
    await this.#superseding.stop()
    await this.#catchUp.stop()
    await this.#duties.stop()
  }

  /** One reading pass. */
  readAhead(): Promise<number | undefined> {
    return this.#ahead.runOnce()
  }

  /** Whether a row of the task is being fired, on time or as catch-up. */
  #isBusy(taskId: string): boolean {
    return this.#catchUp.isBusy(taskId) || this.#inFlight.isBusy(taskId)
  }

  /** Rows that were read and are still to be fired. */
  get #inHand(): number {
    return this.#queue.size + this.#catchUpWriter.size
  }

  /** Makes one firing pass; returns how long to sleep until the next. */
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
    const dues = this.#catchUpWriter.setAside(taken)
    if (taken.length > 0) this.#ahead.readOnIfCut()
    if (dues.length > 0) await this.#fire(dues)
    else if (taken.length > 0) return 0
    else if ((this.#queue.nextAt ?? Number.POSITIVE_INFINITY) <= now + most) return WAIT_FOR_ROOM_MS
    const nextAt = this.#queue.nextAt
    return nextAt === undefined ? LONGEST_SLEEP_MS : Math.max(0, nextAt - least - clock.now())
  }

  /** Returns how many due runs of a line to fire. */
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
    const { decided, sides } = await this.#planned(dues)
    const groups = grouped(withRoom(decided, { worker, sideOf: (each) => sides.get(each) ?? null }))
    const results = await Promise.allSettled(groups.map((group) => this.#fireGroup(group)))
    for (const { row } of dues) this.#inFlight.end(row)
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  /** Plans the firing of due rows. If planning fails, they are put back into the queue. */
  async #planned(dues: readonly Due[]) {
    try {
      await this.#learnProjects(dues)
      const decided = await this.#deciding.aboutAll(dues)
      return { decided, sides: await this.#sides.of(decided) }
    } catch (error) {
      for (const due of dues) {
        this.#inFlight.end(due.row)
        this.#queue.add(due)
      }
      throw error
    }
  }

  /** Looks up the projects of the rows, which blackouts depend on, only while there are blackouts. */
  async #learnProjects(dues: readonly Due[]): Promise<void> {
    const { blackouts } = this.#options
    if (!blackouts.isEmpty) await blackouts.learn(dues.map(({ row }) => row))
  }

  /** Hands on a row that is a duty and not a run; its row is deleted when the duty is done. */
  #isDuty({ row }: Due): boolean {
    if (row.kind !== 'resume' && row.kind !== 'skip') return false
    this.#duties.add(row)
    return true
  }

  async #fireGroup(group: Group): Promise<void> {
    const { worker } = this.#options
    const done: (readonly PlannedFiring[])[] = []
    const left: PlannedFiring[] = []
    try {
      const refused = await this.#aside.each(group.firings, async (part) => {
        const firings = part as readonly PlannedFiring[]
        left.push(...(await this.#firePart({ ...group, firings })))
        done.push(firings)
      })
      this.#release(refused as readonly PlannedFiring[])
    } catch (error) {
      const known = new Set(done.flat())
      for (const firing of left) known.delete(firing)
      const unknown = group.firings.filter((firing) => !known.has(firing))
      this.#release(unknown)
      if (mayHaveBeenCarriedOut(error)) worker?.doubt()
      for (const { row, definition, line } of unknown)
        this.#queue.add({ row, definition, line: line ?? LOCAL })
      // It may have been carried out all the same, and this node does not know what it wrote.
      this.#ahead.readEverything()
      throw error
    }
    if (left.length > 0) await this.#fireGroup({ how: 'each', firings: left })
  }

  /**
   * Fires a part of a group, and begins the runs that it started. Returns those that were left alone and are to be fired one by
   * one.
   */
  async #firePart(group: Group): Promise<readonly PlannedFiring[]> {
    const { worker } = this.#options
    const { how, firings } = group
    await this.#setQueueTimeouts(firings)
    const begunAt = performance.now()
    if (how === 'recurring' && worker !== null) {
      const left = await startRecurring(firings, { ...this.#options, worker })
      this.#lead.measure(performance.now() - begunAt, firings.length, performance.now())
      this.#begin(left.size === 0 ? firings : firings.filter(({ row }) => !left.has(row.runId)), ALL_AS_ASKED)
      return left.size === 0 ? [] : firings.filter(({ row }) => left.has(row.runId))
    }
    const result = await sendFirings(group, this.#options)
    const endedAt = performance.now()
    if (how !== 'missed') this.#lead.measure(endedAt - begunAt, firings.length, endedAt)
    this.#begin(firings, result)
    return []
  }

  /** Begins the runs that a fire has started, and releases the room of the rest. */
  #begin(firings: readonly PlannedFiring[], result: FireResult | OverlapFireResult | undefined): void {
    const started = this.#settle(firings, result)
    if (started.length < firings.length) {
      const begun = new Set(started.map(({ work }) => work.runId))
      this.#release(firings.filter(({ row }) => !begun.has(row.runId)))
    }
    this.#options.worker?.begin(started)
  }

  /** Releases the room of runs that do not start after all. */
  #release(firings: readonly PlannedFiring[]): void {
    for (const { startNow, line } of firings) if (startNow) this.#options.worker?.release(line ?? LOCAL, 1)
  }

  /** Records the queue timeouts of runs before they are fired; few tasks have one. */
  async #setQueueTimeouts(firings: readonly PlannedFiring[]): Promise<void> {
    const timeouts = queueTimeoutsOf(firings)
    if (timeouts.length > 0) await this.#options.db.run(setQueueTimeouts(timeouts))
  }

  /** Handles the result of a fire; returns the runs that the worker of this process shall start. */
  #settle(
    firings: readonly PlannedFiring[],
    result: FireResult | OverlapFireResult | undefined,
  ): ReservedWork[] {
    const { wakeUps, leases, clock, worker } = this.#options
    const gone = new Set(result?.gone)
    const blocked = new Set(result?.blocked)
    const held = new Map(result && 'held' in result ? result.held.map((row) => [row.runId, row]) : [])
    const started: ReservedWork[] = []
    let isQueued = false
    // A row that is already due must not wait for a pass that looks back so far, even if nothing has been read ahead yet.
    const knownUntil = Math.max(this.#ahead.readUntil, clock.now())
    for (const firing of firings) {
      const { row, decision, definition, startNow, line = LOCAL } = firing
      if (gone.has(row.runId)) {
        // It may only have been edited since it was read, and may still be due.
        this.#hinted([{ shard: row.shard, at: row.wakeAt }])
        continue
      }
      const ran = !blocked.has(row.runId) && runs(decision)
      const waiting = held.get(row.runId)
      if (waiting) this.#wait(firing, waiting)
      else if (ran && startNow && result?.isWorkerAlive) started.push({ work: workOf(firing), line })
      else if (ran && firing.side == null) isQueued = true
      else if (ran) worker?.putAside(line)
      const { next, isLast, catchUp } = decision
      if (catchUp) this.#catchUp.wake()
      if (next && !((ran || catchUp) && isLast) && next.at + (next.jitterMs ?? 0) < knownUntil)
        this.#queue.add({
          row: followerOf(row, next, catchUp?.runs.length ?? (ran ? 1 : 0)),
          definition,
          line,
        })
    }
    if (isQueued) wakeUps.announceReady()
    if (result && result.lost.length > 0) leases.forget(result.lost)
    return started
  }

  /**
   * Queues a row that could not start, to be examined again at the latest at its `wakeAt`. The run that it waits for may be
   * cancelled to make way.
   */
  #wait(firing: PlannedFiring, waiting: HeldRow): void {
    const row = waitingOf(firing, waiting)
    if (row.wakeAt < this.#ahead.readUntil)
      this.#queue.add({ row, definition: firing.definition, line: firing.line ?? LOCAL })
    if (row.state === 'held' && firing.decision.overlap?.supersedes) this.#superseding.add(row)
  }

  #hinted(hints: readonly DueHint[]): void {
    this.#ahead.hint(hints)
    this.#catchUp.hint()
  }

  #shardsChanged(): void {
    const isWatched = (shard: number) => this.#options.leases.get(shard) !== undefined
    this.#queue.retain(isWatched)
    for (const { row } of this.#catchUpWriter.retain(isWatched)) this.#inFlight.giveUp(row)
    this.#ahead.readEverything()
  }
}
