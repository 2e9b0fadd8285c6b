/**
 * Who waits for work at this node. A claim that finds nothing waits here, in memory and with a timer of its own;
 * what is asked of the database is asked once for all that offer the same, however many they are: when runs have
 * been put into ready, and now and then in case that was not heard. A claim is made in the name of one worker and
 * remembered with it in the same transaction, so that a repetition after a lost answer gets the same runs.
 */
import { Refusal } from '../../core/errors.ts'
import type { Logger } from '../../runtime/logger.ts'
import { LoopService } from '../../runtime/loop-service.ts'
import type { Database, Queryable } from '../../store/database.ts'
import { waitingLanes } from '../../store/gates.ts'
import { latestClaim, lockClaims, rememberClaim, workHeldBy } from '../../store/remote-workers.ts'
import type { RemoteClaim, RemoteWorker } from '../../transport/remote-workers.ts'
import type { Claim, ClaimedRun, Standing, Transport } from '../../transport/transport.ts'
import type { WakeUps } from '../../transport/wake-ups.ts'

export interface WaitingClaimsOptions {
  readonly db: Database
  readonly transportOn: (db: Queryable) => Transport
  readonly wakeUps: WakeUps
  readonly log: Logger
  /** How often ready is looked into when nothing was said about it. */
  readonly everyMs: number
}

/** Lanes of one offer that are looked at in one pass. */
const MAX_LANES = 500
/** Claims that are made at once, for different workers: each has a connection for some milliseconds. */
const AT_ONCE = 4
/** Whoever found nothing but what somebody else was at asks again after this. */
const ASK_AGAIN_MS = 5
/** However often it is said that something waits, it is looked for no oftener than this. */
const PACE_MS = 10

/** A claim that waits. */
interface Waiting {
  readonly worker: RemoteWorker
  readonly claim: RemoteClaim
  isBeingMade: boolean
  /** Its time was up while it was being made. */
  isOver: boolean
  /** Answers it; whoever comes second is not heard. */
  settle(runs: readonly ClaimedRun[]): void
  fail(error: unknown): void
}

/** Lanes in which something waits for a worker, as they were a moment ago. */
interface Lanes {
  readonly gated: readonly number[]
  readonly open: readonly number[]
  readonly upTo: ReadonlyMap<number, Standing>
}

export class WaitingClaims extends LoopService {
  readonly #options: WaitingClaimsOptions
  readonly #waiting = new Map<string, Waiting>()
  /** A claim has come since the last look: it does not wait for the pace. */
  #hasNew = false
  #lookedAt = Number.NEGATIVE_INFINITY
  #isDismissed = false

  constructor(options: WaitingClaimsOptions) {
    const { everyMs, log, wakeUps } = options
    super({ name: 'remote claims', everyMs, log })
    this.#options = options
    const wake = () => {
      if (this.#waiting.size > 0) this.wake()
    }
    wakeUps.onReady(wake)
    wakeUps.onQueues(wake)
  }

  override async stop(): Promise<void> {
    this.dismissAll()
    await super.stop()
  }

  /** Everybody who waits is answered with nothing, now and from now on. */
  dismissAll(): void {
    this.#isDismissed = true
    for (const waiting of this.#waiting.values()) if (!waiting.isBeingMade) waiting.settle([])
  }

  /** Runs for a worker; none when the time is up. */
  async claim(worker: RemoteWorker, claim: RemoteClaim, signal: AbortSignal): Promise<readonly ClaimedRun[]> {
    const [latest] = await this.#options.db.run(latestClaim(worker.id))
    if (!latest || latest.isDead) throw gone(worker)
    if (latest.claimId === claim.requestId) return this.#again(this.#options.db, worker, latest.runIds)
    if (this.#isDismissed || signal.aborted) return []
    return this.#wait(worker, claim, signal)
  }

  #wait(worker: RemoteWorker, claim: RemoteClaim, signal: AbortSignal): Promise<readonly ClaimedRun[]> {
    // Of two claims of one worker the later one counts: it has given up on the other.
    const before = this.#waiting.get(worker.id)
    if (before?.isBeingMade) before.isOver = true
    else before?.settle([])
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', giveUp)
        if (this.#waiting.get(worker.id) === waiting) this.#waiting.delete(worker.id)
      }
      const waiting: Waiting = {
        worker,
        claim,
        isBeingMade: false,
        isOver: false,
        settle: (runs) => {
          end()
          resolve(runs)
        },
        fail: (error) => {
          end()
          reject(error)
        },
      }
      const giveUp = () => {
        waiting.isOver = true
        if (!waiting.isBeingMade) waiting.settle([])
      }
      const timer = setTimeout(giveUp, claim.waitMs)
      signal.addEventListener('abort', giveUp)
      this.#waiting.set(worker.id, waiting)
      this.#hasNew = true
      this.wake()
    })
  }

  /** One look for everybody who waits; answers when to look again. */
  async runOnce(): Promise<number | undefined> {
    if (this.#waiting.size === 0) return undefined
    const earlyMs = this.#lookedAt + PACE_MS - performance.now()
    if (!this.#hasNew && earlyMs > 0) return earlyMs
    this.#hasNew = false
    this.#lookedAt = performance.now()
    let isShort = false
    for (const group of this.#byOffer()) isShort = (await this.#serve(group)) || isShort
    return isShort ? ASK_AGAIN_MS : undefined
  }

  /** Claims by what their workers offer, each group with those first that have the most places free. */
  #byOffer(): Waiting[][] {
    const groups = new Map<string, Waiting[]>()
    for (const waiting of this.#waiting.values()) {
      if (waiting.isBeingMade) continue
      const { projectId, handlers, labels, queues } = waiting.worker
      const offer = JSON.stringify([projectId, handlers, labels, queues])
      const group = groups.get(offer)
      if (group) group.push(waiting)
      else groups.set(offer, [waiting])
    }
    return [...groups.values()].map((group) => group.sort((a, b) => b.claim.limit - a.claim.limit))
  }

  /** Gives out what there is for one offer; answers whether asking again at once may find more. */
  async #serve(group: readonly Waiting[]): Promise<boolean> {
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

  async #lanesFor({ projectId, handlers, labels, queues }: RemoteWorker): Promise<Lanes> {
    const lanes = await this.#options.db.run(
      waitingLanes({ projectId, handlers, labels, queues, limit: MAX_LANES }),
    )
    const upTo = new Map<number, Standing>()
    for (const { id, nextPriority, nextWakeAt } of lanes)
      if (nextPriority !== null && nextWakeAt !== null)
        upTo.set(id, { priority: nextPriority, wakeAt: nextWakeAt })
    const idsOf = (isGated: boolean) => lanes.filter((lane) => lane.isGated === isGated).map(({ id }) => id)
    return { gated: idsOf(true), open: idsOf(false), upTo }
  }

  /** Makes one claim and answers it, if there was anything. */
  async #make(waiting: Waiting, lanes: Lanes): Promise<Claim> {
    // It may have been given up on while others were served.
    if (this.#waiting.get(waiting.worker.id) !== waiting) return NOTHING
    waiting.isBeingMade = true
    try {
      const made = await this.#options.db.transaction((tx) => this.#claimIn(tx, waiting, lanes))
      if (made.runs.length > 0) waiting.settle(made.runs)
      return made
    } catch (error) {
      waiting.fail(error)
      return NOTHING
    } finally {
      waiting.isBeingMade = false
      if (waiting.isOver || this.#isDismissed) waiting.settle([])
    }
  }

  async #claimIn(tx: Queryable, { worker, claim }: Waiting, lanes: Lanes): Promise<Claim> {
    const { requestId: claimId, limit } = claim
    const [latest] = await tx.run(lockClaims(worker.id))
    if (!latest || latest.isDead) throw gone(worker)
    // The same request waits at another node as well, and was served there.
    if (latest.claimId === claimId)
      return { runs: await this.#again(tx, worker, latest.runIds), isShort: false }
    const transport = this.#options.transportOn(tx)
    const ask = { workerId: worker.id, limit }
    const open = lanes.open.length > 0 ? await transport.claim({ ...ask, lanes: lanes.open }) : NOTHING
    const left = limit - open.runs.length
    // The gates' locks are held until the commit, so what is behind them comes last.
    const gated =
      lanes.gated.length > 0 && left > 0
        ? await transport.claimGated({ ...ask, limit: left, lanes: lanes.gated, upTo: lanes.upTo })
        : NOTHING
    const runs = [...open.runs, ...gated.runs]
    if (runs.length > 0)
      await tx.run(rememberClaim({ id: worker.id, claimId, runIds: runs.map(({ runId }) => runId) }))
    return { runs, isShort: open.isShort || gated.isShort }
  }

  /** What is left in the worker's hands of a claim that it has made before. */
  #again(db: Queryable, worker: RemoteWorker, runIds: readonly string[]): Promise<ClaimedRun[]> {
    return db.run(workHeldBy({ workerId: worker.id, runIds }))
  }
}

const NOTHING: Claim = { runs: [], isShort: false }

/** The worker was declared dead, or has left. */
export const gone = ({ id }: Pick<RemoteWorker, 'id'>): Refusal =>
  new Refusal(
    'worker_gone',
    `Worker ${id} was declared dead or has left, and its runs were given to others. Stop them, and register again.`,
  )
