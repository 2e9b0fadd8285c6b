/**
 * Claims runs and performs them, up to `concurrency` at once. Runs come from the scheduler of the same
 * process, straight from their fire, or from the transport. Because claiming one by one would cost more
 * than short actions themselves, a worker takes on up to a second of work ahead, at the rate it measures.
 */

import { uuidv7 } from '../core/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import type { Definitions } from '../store/definitions.ts'
import { cancelledAmong } from '../store/outcomes.ts'
import type { LocalWorker, Room } from '../transport/local-worker.ts'
import type { ClaimedRun, Transport, Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { Attempt } from './attempt.ts'
import type { Executor } from './executor.ts'
import { cancelledEnding } from './lost-attempt.ts'
import { OutcomeWriter } from './outcome-writer.ts'
import { Returns } from './returns.ts'
import { ServedLanes, STALE_MS } from './served-lanes.ts'
import { Throughput } from './throughput.ts'
import { type EndedAttempt, judge } from './verdict.ts'

export interface WorkerOptions {
  readonly nodeId: string
  readonly db: Database
  readonly transport: Transport
  readonly wakeUps: WakeUps
  readonly definitions: Definitions
  readonly executor: Executor
  readonly clock: Clock
  readonly log: Logger
  readonly concurrency: number
  /** What this worker can do beyond the ordinary; tasks may ask for it. */
  readonly labels: readonly string[]
  /** How often ready is looked into when nothing was said about it. */
  readonly claimEveryMs: number
  /** However fast it works, a worker takes on no more than this ahead. */
  readonly claimAhead: number
  /** How often cancellations are looked for when nothing was said about them. */
  readonly cancelEveryMs: number
  /** How long runs in progress may go on after `stop`. */
  readonly graceMs: number
}

/** Lanes of runs that need a place of their own looked at in one pass. */
const MAX_WAITING_LANES = 500
/** Whoever found nothing but what somebody else was at asks again after this. */
const ASK_AGAIN_MS = 5
/** Of its places a worker gives at most this part to what makes up for an outage. */
const LATE_SHARE = 0.5
/** Nobody speaks of such runs, so that nothing on time waits for a claim of them: they are looked for, so often and for so long. */
const LATE_PACE_MS = 15
const LATE_LINGER_MS = 5_000
/** What is taken on ahead is this part of a second's work or more. */
const LEAST_PART_AHEAD = 8
/** The worker takes on nothing new while this many outcomes wait to be written. */
const MAX_BACKLOG = 10_000

export class Worker implements Service, LocalWorker {
  readonly #options: WorkerOptions
  readonly #attempts = new Map<string, Attempt>()
  /** Taken on, waiting for a place, in due order. */
  readonly #queue: Work[] = []
  /** Claimed, but their definitions are not here yet. */
  readonly #claimed: ClaimedRun[] = []
  readonly #throughput = new Throughput()
  readonly #lanes: ServedLanes
  readonly #writer: OutcomeWriter
  readonly #returns: Returns
  readonly #pulling: Loop
  readonly #cancelling: Loop
  #reserved = 0
  #claims = 0
  /** Runs may be waiting in ready: they were there first, so nothing is fired past them. */
  #hasBacklog = true
  /** Something waits that is not claimed ahead, and there was no place for it: the next one is kept for it. */
  #isPlaceKept = false
  #isAheadFirst = false
  /** Somebody said that runs were put into ready, and no pass has begun since. */
  #isTold = false
  /** Runs in hand that make up for an outage, and until when there are likely to be more. */
  readonly #late = new Set<string>()
  #lateUntil = Number.NEGATIVE_INFINITY
  #isStopping = false
  #isSuspended = false
  #onIdle: (() => void) | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    const { db, wakeUps, log, labels, nodeId, clock, claimEveryMs, cancelEveryMs } = options
    this.#lanes = new ServedLanes({ workerId: nodeId, db, labels })
    this.#writer = new OutcomeWriter({ db, wakeUps, log })
    this.#returns = new Returns({ nodeId, db, wakeUps, clock, log, writer: this.#writer })
    this.#pulling = new Loop({ name: 'claim', everyMs: claimEveryMs, log, runOnce: () => this.#pull() })
    this.#cancelling = new Loop({
      name: 'cancellations',
      everyMs: cancelEveryMs,
      log,
      runOnce: () => this.#cancel(),
    })
    wakeUps.onReady(() => {
      this.#isTold = true
      this.#hasBacklog = true
      this.#pulling.wake()
    })
    wakeUps.onQueues(() => {
      this.#lanes.forget()
      this.#hasBacklog = true
      this.#pulling.wake()
    })
    wakeUps.onCancel(() => this.#cancelling.wake())
  }

  get id(): string {
    return this.#options.nodeId
  }

  start(): void {
    this.#writer.start()
    this.#pulling.start()
    this.#cancelling.start()
  }

  /**
   * Stops claiming, hands back what has not begun, lets what has begun finish within the grace period and
   * writes all outcomes. What is cut off then counts as a failed attempt and is tried again elsewhere.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#pulling.stop()
    await this.#handBack()
    if (this.#attempts.size > 0) {
      const late = setTimeout(() => {
        for (const attempt of this.#attempts.values()) attempt.stop('shutdown')
      }, this.#options.graceMs)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
      clearTimeout(late)
    }
    await this.#cancelling.stop()
    await this.#writer.stop()
    await this.#options.executor.close?.()
  }

  /**
   * Stops everything at once and takes on nothing: the others may think this node dead, and start its runs
   * themselves. Nothing is written about what was stopped until it is certain whose it is.
   */
  suspend(): void {
    this.#isSuspended = true
    this.#returns.addUnbegun(this.#queue.splice(0))
    for (const attempt of this.#attempts.values()) {
      if (attempt.hasBegun) this.#returns.addBegun(attempt.work)
      else this.#returns.addUnbegun([attempt.work])
      attempt.stop('lease_lost')
    }
  }

  /** The leases held after all: what was stopped goes back to ready, each with an attempt lost. */
  resume(): void {
    this.#isSuspended = false
    this.#hasBacklog = true
    this.#pulling.wake()
  }

  serves(lane: number): 'ahead' | 'free' | undefined {
    return this.#lanes.serves(lane)
  }

  get room(): number {
    if (this.#hasBacklog || this.#isStopping || this.#isSuspended) return 0
    // With every place taken and most of a second's work in hand nothing is gained by a few more right now, and
    // firing them by the handful costs twice as much as together.
    const isWorthwhile = this.#free > 0 || this.#ahead >= this.#allowedAhead / LEAST_PART_AHEAD
    return isWorthwhile ? this.#free + this.#ahead : 0
  }

  get claimed(): number {
    return this.#claims
  }

  reserve(wanted: number): Room {
    if (this.room === 0) return { free: 0, ahead: 0 }
    const free = Math.min(wanted, this.#free)
    const ahead = Math.min(wanted - free, this.#ahead)
    this.#reserved += free + ahead
    return { free, ahead }
  }

  release(count: number): void {
    this.#reserved -= count
    if (this.#hasBacklog && count > 0) this.#pulling.wake()
  }

  begin(runs: readonly Work[]): void {
    this.#takeOn(runs, 'last')
  }

  #takeOn(runs: readonly Work[], where: 'first' | 'last'): void {
    this.#reserved -= runs.length
    if (where === 'first') this.#queue.unshift(...runs)
    else for (const work of runs) this.#queue.push(work)
    this.#fillPlaces()
  }

  doubt(): void {
    this.#returns.doubt()
  }

  get #busy(): number {
    return this.#attempts.size + this.#queue.length + this.#reserved
  }

  /** Places that a run could start in now. */
  get #free(): number {
    return this.#writer.backlog > MAX_BACKLOG ? 0 : Math.max(0, this.#options.concurrency - this.#busy)
  }

  /** Runs that could be taken on beyond that. */
  get #ahead(): number {
    if (this.#writer.backlog > MAX_BACKLOG) return 0
    return Math.max(0, this.#allowedAhead - Math.max(0, this.#busy - this.#options.concurrency))
  }

  /** Places for what is claimed into none but a free one. */
  get #places(): number {
    if (!this.#isPlaceKept || this.#writer.backlog > MAX_BACKLOG) return this.#free
    const isFree = this.#attempts.size + this.#reserved < this.#options.concurrency
    return Math.max(this.#free, isFree ? 1 : 0)
  }

  get #allowedAhead(): number {
    return Math.min(this.#options.claimAhead, Math.floor(this.#throughput.perSecond()))
  }

  async #pull(): Promise<number | undefined> {
    if (this.#isSuspended) return undefined
    this.#returnSurplus()
    await this.#returns.flush()
    this.#fillPlaces()
    await this.#returns.resolveDoubt((runId) => this.#holds(runId))
    await this.#beginClaimed('last')
    if (this.#isStopping) return undefined
    const wasTold = this.#isTold
    this.#isTold = false
    const staleInMs = await this.#lanes.refresh(() => this.#inHand)
    const before = this.#claims
    // Neither kind goes first always: one that never runs out would keep the other from every place.
    this.#isAheadFirst = !this.#isAheadFirst
    const early = this.#isAheadFirst ? await this.#claimAhead() : 'all'
    const placed = await this.#claimIntoPlaces()
    const late = this.#isAheadFirst ? 'all' : await this.#claimAhead()
    this.#hasBacklog = [early, placed, late].includes('more')
    if (this.#hasBacklog && this.#free > 0) return this.#claims > before ? 0 : ASK_AGAIN_MS
    if (!this.#hasBacklog) {
      const lateInMs = await this.#claimLate()
      if (lateInMs !== undefined) return lateInMs
    }
    // There was said to be something and nothing was found: it may wait in a lane that is not known yet.
    return wasTold && this.#claims === before && staleInMs < STALE_MS ? staleInMs : undefined
  }

  /**
   * Claims what makes up for an outage, once nothing else waits, and into a part of the places only: what is on
   * time must find one free.
   */
  async #claimLate(): Promise<number | undefined> {
    const { transport, concurrency } = this.#options
    const lanes = this.#lanes.late
    if (lanes.length === 0) return undefined
    const isLate = ({ runId }: { readonly runId: string }) => this.#late.has(runId)
    const inHand = [...this.#attempts.values()].filter(({ work }) => isLate(work)).length
    const places =
      Math.max(1, Math.floor(concurrency * LATE_SHARE)) - inHand - this.#queue.filter(isLate).length
    const limit = Math.min(this.#free, places)
    const first = this.#claimed.length
    await this.#claim(lanes, limit, (request) => transport.claim(request))
    const claimed = this.#claimed.slice(first)
    for (const { runId } of claimed) this.#late.add(runId)
    await this.#beginClaimed('last')
    if (claimed.length > 0) this.#lateUntil = performance.now() + LATE_LINGER_MS
    return performance.now() < this.#lateUntil ? LATE_PACE_MS : undefined
  }

  /** Claims what starts only in a place of its own: it goes before what waits in hand. */
  async #claimIntoPlaces(): Promise<'all' | 'more'> {
    const { transport } = this.#options
    const { gated, strict, upTo } = await this.#lanes.waiting(MAX_WAITING_LANES)
    const before = this.#claims
    const found = [
      await this.#claim(gated, this.#places, (request) => transport.claimGated({ ...request, upTo })),
      await this.#claim(strict, this.#places, (request) => transport.claim(request)),
    ]
    const hasMore = found.includes('more')
    this.#isPlaceKept = hasMore && this.#claims === before
    await this.#beginClaimed('first')
    this.#fillPlaces()
    return hasMore ? 'more' : 'all'
  }

  /** Claims what may wait in hand for a place. */
  async #claimAhead(): Promise<'all' | 'more'> {
    const { transport } = this.#options
    const found = await this.#claim(this.#lanes.open, this.#free + this.#ahead, (request) =>
      transport.claim(request),
    )
    await this.#beginClaimed('last')
    return found
  }

  /** Claims from lanes; `more` when there may be more than there was room for. */
  async #claim(lanes: readonly number[], limit: number, claim: Transport['claim']): Promise<'all' | 'more'> {
    if (lanes.length === 0) return 'all'
    if (limit <= 0) return 'more'
    this.#reserved += limit
    let count = 0
    try {
      const { runs, isShort } = await claim({ workerId: this.id, lanes, limit })
      count = runs.length
      this.#claims += count
      this.#claimed.push(...runs)
      return count === limit || isShort ? 'more' : 'all'
    } catch (error) {
      this.doubt()
      throw error
    } finally {
      this.#reserved -= limit - count
    }
  }

  async #beginClaimed(where: 'first' | 'last'): Promise<void> {
    if (this.#claimed.length === 0) return
    const claimed = [...this.#claimed]
    const definitions = await this.#options.definitions.of(claimed)
    this.#claimed.splice(0, claimed.length)
    const works = claimed.flatMap((run, i) => {
      const definition = definitions[i]
      return definition ? [{ ...run, definition }] : []
    })
    const wanted = works.filter((work) => !work.isCancelled)
    this.#reserved -= claimed.length - wanted.length
    for (const work of works) if (work.isCancelled) this.#endCancelled(work)
    this.#takeOn(wanted, where)
  }

  /**
   * What waits here much longer than it was meant to goes back to where others can take it. Not at the first
   * hesitation: handing back and claiming again costs more than the run itself.
   */
  #returnSurplus(): void {
    this.#returns.addUnbegun(this.#queue.splice(2 * this.#allowedAhead))
  }

  #fillPlaces(): void {
    if (this.#isStopping || this.#isSuspended) return
    const places = this.#options.concurrency - (this.#isPlaceKept ? 1 : 0)
    while (this.#attempts.size < places && this.#queue.length > 0) {
      // `shift` moves the beginning of the array, `splice` would move the thousands behind it.
      void this.#perform(this.#queue.shift() as Work)
    }
  }

  async #perform(work: Work): Promise<void> {
    const { clock, executor } = this.#options
    const attempt = new Attempt(work, clock)
    this.#attempts.set(work.runId, attempt)
    const ended = await attempt.perform(executor)
    this.#attempts.delete(work.runId)
    this.#late.delete(work.runId)
    this.#throughput.count()
    if (ended) this.#settle(attempt, ended)
    this.#freed()
  }

  #settle(attempt: Attempt, ended: EndedAttempt): void {
    const { log } = this.#options
    const verdict = judge(ended, Math.random, uuidv7)
    this.#writer.add(verdict)
    const { outcome, work } = ended
    const level = outcome.kind === 'completed' ? 'debug' : 'info'
    if (!log.isLevelEnabled(level)) return
    const error = 'error' in outcome ? outcome.error : undefined
    const trace = attempt.traceparent.split('-')[1]
    log[level](
      {
        task: work.taskId,
        run: work.runId,
        attempt: work.attempt,
        fence: work.fence,
        trace,
        ...(attempt.tracingId === null ? {} : { tracingId: attempt.tracingId }),
        next: verdict.kind,
        error,
      },
      `attempt ${outcome.kind}`,
    )
  }

  /** A place came free: it goes to the next run in hand, and the hand is filled before it is empty. */
  #freed(): void {
    this.#fillPlaces()
    const isHandLow = this.#queue.length <= this.#options.concurrency
    if (this.#isPlaceKept || (this.#hasBacklog && isHandLow)) this.#pulling.wake()
    if (this.#attempts.size === 0) this.#onIdle?.()
  }

  /** Gives back everything that has not begun. */
  async #handBack(): Promise<void> {
    const waiting = [...this.#attempts.values()].filter((attempt) => !attempt.hasBegun)
    for (const attempt of waiting) attempt.abandon()
    this.#returns.addUnbegun(waiting.map(({ work }) => work))
    this.#returns.addUnbegun([...this.#queue.splice(0), ...this.#claimed.splice(0)])
    await this.#returns.flush()
  }

  #holds(runId: string): boolean {
    return this.#attempts.has(runId) || [...this.#claimed, ...this.#queue].some((run) => run.runId === runId)
  }

  /** Everything in this worker's name that it knows of. */
  get #inHand(): readonly string[] {
    return [...this.#attempts.keys(), ...[...this.#claimed, ...this.#queue].map(({ runId }) => runId)]
  }

  #endCancelled(work: Work): void {
    const ending = cancelledEnding(work, this.#options.clock.now())
    this.#writer.add({ kind: 'end', ending, isAwaited: true })
  }

  async #cancel(): Promise<undefined> {
    const known = [...this.#attempts.keys(), ...this.#queue.map(({ runId }) => runId)]
    if (known.length === 0) return
    for (const { runId } of await this.#options.db.run(cancelledAmong(known))) {
      const index = this.#queue.findIndex((work) => work.runId === runId)
      const [waiting] = index < 0 ? [] : this.#queue.splice(index, 1)
      if (waiting) this.#endCancelled(waiting)
      else this.#attempts.get(runId)?.stop('cancelled')
    }
  }
}
