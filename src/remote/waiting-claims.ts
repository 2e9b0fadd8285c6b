/**
 * Claims that wait for runs at this node. A claim that finds none waits here, in memory and with its own timer. The
 * database is queried once for all workers with the same offer, however many there are: when runs have been put into `ready`,
 * and periodically in case the wake-up was lost. A pass serves a limited number of offers, in turn by project, and the next one
 * continues. The same claim may wait here more than once, and at other nodes: its response
 * is decided in the tables (claim-book.ts).
 */

import { Refusal } from '../core/errors.ts'
import type { Claim, ClaimedRun, Standing } from '../core/run/claim.ts'
import { Loop } from '../runtime/loop.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { type Database, isRefused, type Queryable } from '../store/database/database.ts'
import { waitingLanes } from '../store/queues/waiting-lanes.ts'
import type { Logger } from '../telemetry/logger.ts'
import { UnclaimableRuns } from '../transport/postgres/unclaimable-runs.ts'
import { RateWait } from '../transport/rate-wait.ts'
import type { RemoteClaim, RemoteWorker } from '../transport/remote-workers.ts'
import type { Taking } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { ClaimBook, type Made, NOTHING } from './claim-book.ts'
import { nextTurns, type Turn } from './turns.ts'
import { WaitingClaim } from './waiting-claim.ts'

export interface WaitingClaimsOptions {
  readonly db: Database
  readonly transportOn: (db: Queryable) => Taking
  readonly wakeUps: WakeUps
  readonly log: Logger
  /** Returns the labels that a worker offers through this node. */
  labelsOf(worker: RemoteWorker): readonly string[]
  /** How often `ready` is polled without wake-ups. */
  readonly everyMs: number
}

/** Maximum number of lanes examined for one offer in one pass. */
const MAX_LANES = 500
/** Maximum number of offers that one pass serves, each with one statement. Other projects wait for about one such pass. */
const MAX_OFFERS = 20
/** Number of claims made concurrently, for different workers: each uses a connection for some milliseconds. */
const AT_ONCE = 4
/** After this time claims look again if the last look found only runs that others were claiming. */
const ASK_AGAIN_MS = 5
/** However many wake-ups arrive, runs are looked for at most this often. */
const PACE_MS = 10
/** How often waiting claims are scanned for those due to be looked up in the tables, while there are any. */
const CHECK_MS = 100
const CHECK_IDLE_MS = 60_000

/** Lanes in which runs recently waited for a worker. */
interface Lanes {
  readonly gated: readonly number[]
  readonly open: readonly number[]
  readonly upTo: ReadonlyMap<number, Standing>
}

/** The waiting claims of workers with the same offer, those with the most free slots first. */
interface Group extends Turn {
  readonly claims: readonly WaitingClaim[]
}

export class WaitingClaims extends LoopService {
  readonly #options: WaitingClaimsOptions
  readonly #book: ClaimBook
  readonly #unclaimable: UnclaimableRuns
  /** The latest claim of each worker. */
  readonly #waiting = new Map<string, WaitingClaim>()
  /** Looks up waiting claims that may have been made elsewhere. */
  readonly #checking: Loop
  /** Whether a claim has arrived since the last look: it does not wait for the pace. */
  #hasNew = false
  #lookedAt = Number.NEGATIVE_INFINITY
  #pass = 0
  /** The first pass since the last reason to look for all claims; groups served before it have not had their look yet. */
  #firstPass = 0
  /** Whether the last pass left groups without a look, so that the next one continues. */
  #isUnfinished = false
  #isShort = false
  readonly #rates = new RateWait()
  #isDismissed = false

  constructor(options: WaitingClaimsOptions) {
    const { db, everyMs, log, wakeUps } = options
    super({ name: 'remote claims', everyMs, log })
    this.#options = options
    this.#book = new ClaimBook(db)
    this.#unclaimable = new UnclaimableRuns({ db, log })
    this.#checking = new Loop({
      name: 'claims made elsewhere',
      everyMs: CHECK_IDLE_MS,
      log,
      runOnce: () => this.#check(),
    })
    const wake = () => {
      this.#firstPass = this.#pass + 1
      if (this.#waiting.size > 0) this.wake()
    }
    wakeUps.onReady(wake)
    wakeUps.onQueues(wake)
  }

  override start(): void {
    super.start()
    this.#checking.start()
  }

  override async stop(): Promise<void> {
    this.dismissAll()
    await super.stop()
    await this.#checking.stop()
  }

  /** Answers every waiting claim with no runs, now and from now on. */
  dismissAll(): void {
    this.#isDismissed = true
    for (const waiting of this.#waiting.values()) if (!waiting.isBeingMade) void this.#close(waiting)
  }

  /** Returns runs for a worker; none if the time is up. */
  async claim(worker: RemoteWorker, claim: RemoteClaim, signal: AbortSignal): Promise<readonly ClaimedRun[]> {
    const latest = await this.#book.latest(worker)
    if (latest.claimId === claim.requestId) return this.#book.again(worker, latest)
    if (signal.aborted) return []
    const waiting = this.#enter({ ...worker, labels: latest.labels }, claim, latest.claimId)
    const answer = waiting.answered(claim.waitMs, signal)
    if (this.#isDismissed && !waiting.isBeingMade) void this.#close(waiting)
    return answer.finally(() => {
      if (waiting.isAbandoned) this.#leave(waiting)
    })
  }

  /** Returns the waiting claim, which already exists if this is a repetition. */
  #enter(worker: RemoteWorker, claim: RemoteClaim, before: string | null): WaitingClaim {
    const other = this.#waiting.get(worker.id)
    if (other?.claim.requestId === claim.requestId) {
      other.worker = worker
      return other
    }
    // Of two claims of one worker the later one counts: the worker has abandoned the other.
    if (!other?.isBeingMade) other?.settle([])
    const waiting = new WaitingClaim({
      worker,
      claim,
      before,
      onTimeUp: (one) => this.#endInTime(one),
      onAbandoned: (one) => {
        if (!one.isBeingMade) this.#leave(one)
      },
    })
    this.#waiting.set(worker.id, waiting)
    if (this.#waiting.size === 1) this.#checking.wake()
    this.#hasNew = true
    this.wake()
    return waiting
  }

  #leave(waiting: WaitingClaim): void {
    if (this.#waiting.get(waiting.worker.id) === waiting) this.#waiting.delete(waiting.worker.id)
  }

  /** Ends a claim whose time is up, after at least one look, even for a claim that does not wait. */
  #endInTime(waiting: WaitingClaim): void {
    waiting.isOver = true
    if (waiting.servedIn > 0 && !waiting.isBeingMade) void this.#close(waiting)
  }

  /** Answers a claim with no runs, once that is stored. */
  async #close(waiting: WaitingClaim): Promise<void> {
    waiting.isBeingMade = true
    try {
      waiting.settle(await this.#book.close(waiting))
    } catch (error) {
      waiting.fail(error)
    }
    this.#leave(waiting)
  }

  async #check(): Promise<number | undefined> {
    if (this.#waiting.size === 0) return undefined
    const now = performance.now()
    const due = [...this.#waiting.values()].filter(
      (waiting) => !waiting.isBeingMade && waiting.isToBeChecked(now),
    )
    if (due.length > 0) await this.#book.answerDecided(due)
    return CHECK_MS
  }

  /** Makes a look for waiting claims, as many as one pass serves; returns when to look again. */
  async runOnce(): Promise<number | undefined> {
    if (this.#waiting.size === 0) return undefined
    const earlyMs = this.#lookedAt + PACE_MS - performance.now()
    if (!this.#hasNew && !this.#isUnfinished && earlyMs > 0) return earlyMs
    this.#hasNew = false
    this.#lookedAt = performance.now()
    const pass = ++this.#pass
    if (!this.#isUnfinished) {
      this.#firstPass = pass
      this.#isShort = false
      this.#rates.clear()
    }
    const due = this.#byOffer().filter(({ servedIn }) => servedIn < this.#firstPass)
    const groups = nextTurns(due, MAX_OFFERS)
    this.#isUnfinished = groups.length < due.length
    try {
      for (const { claims } of groups) this.#isShort = (await this.#serve(claims)) || this.#isShort
    } catch (error) {
      for (const waiting of due.flatMap(({ claims }) => claims))
        if (waiting.isOver && !waiting.isBeingMade) waiting.fail(error)
      throw error
    }
    for (const waiting of groups.flatMap(({ claims }) => claims)) {
      waiting.servedIn = pass
      if (waiting.isOver && !waiting.isBeingMade && !waiting.isAbandoned) void this.#close(waiting)
    }
    if (this.#isUnfinished) return 0
    return this.#rates.orSooner(this.#isShort ? ASK_AGAIN_MS : undefined)
  }

  #byOffer(): Group[] {
    const groups = new Map<string, WaitingClaim[]>()
    for (const waiting of this.#waiting.values()) {
      if (waiting.isBeingMade) continue
      const { projectId, handlers, labels, queues } = waiting.worker
      const offer = JSON.stringify([projectId, handlers, labels, queues])
      const group = groups.get(offer)
      if (group) group.push(waiting)
      else groups.set(offer, [waiting])
    }
    return [...groups.values()].map((claims) => ({
      claims: claims.sort((a, b) => b.claim.limit - a.claim.limit),
      projectId: claims[0]?.worker.projectId ?? '',
      servedIn: Math.min(...claims.map(({ servedIn }) => servedIn)),
    }))
  }

  /** Makes the claims of one offer; returns whether another look at once may find more. */
  async #serve(group: readonly WaitingClaim[]): Promise<boolean> {
    const [first] = group
    if (!first) return false
    const lanes = await this.#lanesFor(first.worker)
    if (lanes.gated.length + lanes.open.length === 0) return false
    for (let i = 0; i < group.length; i += AT_ONCE) {
      const claims = await Promise.all(
        group.slice(i, i + AT_ONCE).map((waiting) => this.#make(waiting, lanes)),
      )
      if (claims.every(({ runs }) => runs.length === 0)) return claims.some(({ isShort }) => isShort)
    }
    return false
  }

  async #lanesFor(worker: RemoteWorker): Promise<Lanes> {
    const { projectId, handlers, queues } = worker
    const labels = this.#options.labelsOf(worker)
    const beganAt = performance.now()
    const [found] = await this.#options.db.run(
      waitingLanes({ projectId, handlers, labels, queues, limit: MAX_LANES }),
    )
    const { lanes = [], opensInMs = null } = found ?? {}
    this.#rates.note(opensInMs, performance.now() - beganAt)
    const upTo = new Map<number, Standing>()
    for (const { id, nextPriority, nextWakeAt } of lanes)
      if (nextPriority !== null && nextWakeAt !== null)
        upTo.set(id, { priority: nextPriority, wakeAt: nextWakeAt })
    const idsOf = (isGated: boolean) => lanes.filter((lane) => lane.isGated === isGated).map(({ id }) => id)
    return { gated: idsOf(true), open: idsOf(false), upTo }
  }

  /** Makes one claim and answers it if it found runs. */
  async #make(waiting: WaitingClaim, lanes: Lanes): Promise<Made> {
    // It may have been abandoned while others were served, or is being answered.
    if (this.#waiting.get(waiting.worker.id) !== waiting || waiting.isBeingMade) return NOTHING
    waiting.isBeingMade = true
    try {
      const made = await this.#book.make(waiting, (tx) => this.#take(tx, waiting, lanes))
      if (made.isAnswer) waiting.settle(made.runs)
      return made
    } catch (error) {
      if (await this.#isMended(error, waiting, lanes)) return { ...NOTHING, isShort: true }
      waiting.fail(error)
      return NOTHING
    } finally {
      waiting.isBeingMade = false
      if (this.#waiting.get(waiting.worker.id) !== waiting) waiting.settle([])
      else if (waiting.isAbandoned) this.#leave(waiting)
      else if (waiting.isOver || this.#isDismissed) void this.#close(waiting)
    }
  }

  /** Whether the claim may succeed next time, because a run that cannot be claimed was removed. */
  async #isMended(error: unknown, { worker, claim }: WaitingClaim, { gated, open }: Lanes): Promise<boolean> {
    if (error instanceof Refusal || !isRefused(error)) return false
    const request = { workerId: worker.id, lanes: [...gated, ...open], limit: claim.limit }
    return this.#unclaimable.setAside(request).catch(() => false)
  }

  async #take(tx: Queryable, { worker, claim: { limit } }: WaitingClaim, lanes: Lanes): Promise<Claim> {
    const transport = this.#options.transportOn(tx)
    const ask = { workerId: worker.id, limit }
    const open = lanes.open.length > 0 ? await transport.claim({ ...ask, lanes: lanes.open }) : NOTHING
    const left = limit - open.runs.length
    // The locks of gates are held until the commit, so lanes behind gates come last.
    const gated =
      lanes.gated.length > 0 && left > 0
        ? await transport.claimGated({ ...ask, limit: left, lanes: lanes.gated, upTo: lanes.upTo })
        : NOTHING
    return { runs: [...open.runs, ...gated.runs], isShort: open.isShort || gated.isShort }
  }
}
