/**
 * Performs runs: up to `concurrency` at once of those that work on this machine, and as many calls as their targets have room
 * for. Runs come from the scheduler of the same process, which fires them into the worker, or from the transport (claiming.ts).
 */

import { setTimeout as delay } from 'node:timers/promises'
import { isLarge } from '../core/action/action.ts'
import { uuidv7 } from '../core/ids.ts'
import type { Outcome } from '../core/run/outcome.ts'
import type { KeptDefinition } from '../core/task/task.ts'
import type { RunLogs } from '../logs/run-log.ts'
import { type EndedAttempt, judge } from '../outcomes/judgement.ts'
import { cancelledEnding } from '../outcomes/lost-attempt.ts'
import { OutcomeWriter } from '../outcomes/outcome-writer.ts'
import { type CallResult, callResultOf } from '../outgoing/targets/call-result.ts'
import type { TargetBook } from '../outgoing/targets/target-book.ts'
import type { TargetLine } from '../outgoing/targets/target-line.ts'
import type { HoldingClock } from '../runtime/clock.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { cancelledAmong } from '../store/agenda/outcomes.ts'
import type { Database } from '../store/database/database.ts'
import type { LeasedRun } from '../store/nodes/nodes.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { Line, LocalWorker, ReservedWork, Room } from '../transport/local-worker.ts'
import { UnclaimableRuns } from '../transport/postgres/unclaimable-runs.ts'
import type { Taking, Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { Attempt } from './attempt.ts'
import { Capacity } from './capacity.ts'
import { Claiming } from './claiming.ts'
import type { Executor } from './executor.ts'
import { LargeActions } from './large-actions.ts'
import { PutAside } from './put-aside.ts'
import { Returns } from './returns.ts'
import { ServedLanes } from './served-lanes.ts'
import type { WorkLine } from './work-line.ts'

export interface WorkerOptions {
  readonly nodeId: string
  readonly db: Database
  readonly transport: Taking
  readonly wakeUps: WakeUps
  readonly definitions: Definitions
  readonly executor: Executor
  readonly clock: HoldingClock
  readonly log: Logger
  /** Where attempts write their logs. */
  readonly logs: Pick<RunLogs, 'open'>
  readonly concurrency: number
  /** Maximum number of programs that run at once; none if omitted. */
  readonly programs?: number
  /** Maximum number of calls in progress at once. */
  readonly maxCalls: number
  /** What is known of the targets of calls. */
  readonly targets: TargetBook
  /** The mail server of a project, as a target; null if there is none. */
  smtpTargetOf(projectId: string): string | null
  /** The worker's labels, which tasks may require; null if it may not perform anything. */
  labels(): readonly string[] | null
  /** How often `ready` is polled without wake-ups. */
  readonly claimEveryMs: number
  /** Maximum number of runs the worker takes on ahead, however fast it works. */
  readonly claimAhead: number
  /** How often cancellations are polled without wake-ups. */
  readonly cancelEveryMs: number
  /** How long runs in progress may go on after `stop`. */
  readonly graceMs: number
}

/** Runs are taken on ahead only if there is room for at least this fraction of a second's work. */
const LEAST_PART_AHEAD = 16
const NO_ROOM: Room = { free: 0, ahead: 0 }
/** A worker that stops and cannot hand back its runs tries again after this long. */
const HAND_BACK_PAUSE_MS = 250
/** A worker that ends this many runs per second soon has a slot free, and then finds out what still waits in `ready`. */
const BRISK_PER_SECOND = 20

/** Errors that concern this node and perhaps no other: no sockets left, or no key for a secret. */
const OWN_SHORTAGES: readonly string[] = ['worker_exhausted', 'secrets_unavailable']

/** An error with details occurred after a redirect was followed, so it counts as an attempt. */
const isOwnShortage = (outcome: Outcome) =>
  outcome.kind === 'failed' &&
  OWN_SHORTAGES.includes(outcome.error.code) &&
  outcome.error.detail === undefined

export class Worker implements Service, LocalWorker {
  readonly #options: WorkerOptions
  readonly #capacity: Capacity
  readonly #claiming: Claiming
  readonly #lanes: ServedLanes
  readonly #large: LargeActions
  readonly #writer: OutcomeWriter
  readonly #returns: Returns
  readonly #aside: PutAside
  readonly #pulling: Loop
  readonly #cancelling: Loop
  #isStopping = false
  #isSuspended = false
  #onIdle: (() => void) | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    const { db, wakeUps, log, nodeId, clock, claimEveryMs, cancelEveryMs } = options
    const { concurrency, programs = 0, maxCalls, targets, claimAhead } = options
    const { transport, definitions } = options
    this.#lanes = new ServedLanes({ workerId: nodeId, db, labels: () => options.labels() })
    this.#large = new LargeActions({ definitions, log })
    this.#writer = new OutcomeWriter({ db, wakeUps, clock, log })
    this.#returns = new Returns({
      ...{ nodeId, db, wakeUps, clock, log, writer: this.#writer },
      onNewLanes: () => this.#lanes.forget(),
    })
    this.#capacity = new Capacity({
      ...{ concurrency, programs, maxCalls, claimAhead, targets },
      smtpTargetOf: (projectId) => options.smtpTargetOf(projectId),
      isFull: () => this.#writer.isFull,
    })
    this.#aside = new PutAside({ capacity: this.#capacity, giveBack: (run) => this.#returns.addAside(run) })
    this.#claiming = new Claiming({
      workerId: nodeId,
      capacity: this.#capacity,
      lanes: this.#lanes,
      transport,
      unclaimable: new UnclaimableRuns({ db, log }),
      definitions,
      aside: this.#aside,
      concurrency,
      fillPlaces: () => this.#fillPlaces(),
      endCancelled: (work) => this.#endCancelled(work),
      doubt: () => this.doubt(),
    })
    this.#pulling = new Loop({ name: 'claim', everyMs: claimEveryMs, log, runOnce: () => this.#pull() })
    this.#cancelling = new Loop({
      name: 'cancellations',
      everyMs: cancelEveryMs,
      log,
      runOnce: () => this.#cancel(),
    })
    wakeUps.onReady(() => {
      this.#claiming.isTold = true
      this.#claiming.hasBacklog = true
      this.#pulling.wake()
    })
    wakeUps.onQueues(() => {
      this.#lanes.forget()
      this.#claiming.hasBacklog = true
      this.#pulling.wake()
    })
    wakeUps.onCancel(() => this.#cancelling.wake())
    clock.onStep((step) => {
      for (const attempt of this.#capacity.attempts.values()) attempt.correct(step)
    })
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
   * Stops claiming, hands back runs that have not begun, lets those that have begun finish within the grace period, and writes
   * all outcomes. An attempt that is cut off counts as failed and is retried elsewhere.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#pulling.stop()
    // If the database does not respond at this moment, runs in progress must not be cut off.
    const handingBack = Promise.allSettled([this.#handBack()])
    if (this.#capacity.attempts.size > 0) {
      const late = setTimeout(() => {
        for (const attempt of this.#capacity.attempts.values()) attempt.stop('shutdown')
      }, this.#options.graceMs)
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve
      })
      clearTimeout(late)
    }
    await this.#cancelling.stop()
    const [handedBack] = await handingBack
    await this.#writer.stop()
    await this.#options.executor.close?.()
    if (handedBack.status === 'rejected') throw handedBack.reason
  }

  /**
   * Stops everything at once and takes on nothing: other nodes may consider this node dead and start its runs. Nothing is
   * written about the stopped runs until it is certain who leases them.
   */
  suspend(): void {
    this.#isSuspended = true
    this.#returns.addUnbegun(this.#capacity.clear().map(leaseOf))
    for (const attempt of this.#capacity.attempts.values()) {
      if (attempt.startedAt !== null) this.#returns.addBegun(attempt.work, attempt.startedAt)
      else this.#returns.addUnbegun([leaseOf(attempt.work)])
      attempt.stop('lease_lost')
    }
  }

  /** Resumes after the leases turned out to be intact: the stopped runs go back to `ready`, each begun one with a loss. */
  resume(): void {
    this.#isSuspended = false
    this.#claiming.hasBacklog = true
    this.#pulling.wake()
  }

  serves(lane: number): 'ahead' | 'free' | undefined {
    return this.#lanes.serves(lane)
  }

  lineOf(definition: KeptDefinition): Line {
    return this.#capacity.lineOf(definition)
  }

  room(ref: Line): number {
    if (this.#claiming.hasBacklog || this.#isStopping || this.#isSuspended) return 0
    const line = this.#capacity.of(ref)
    if (line.hasBacklog) return 0
    // If every slot is taken and most of a second's work is in hand, a few more runs gain nothing now, and firing them a few at
    // a time costs twice as much as firing them together.
    const free = this.#capacity.free(line)
    const ahead = this.#capacity.ahead(line)
    const isWorthwhile = free > 0 || ahead >= this.#capacity.allowedAhead(line) / LEAST_PART_AHEAD
    return isWorthwhile ? free + ahead : 0
  }

  get isBacklogged(): boolean {
    return this.#claiming.hasBacklog
  }

  isReadyBehind(ref: Line): boolean {
    const line = this.#capacity.of(ref)
    if (!this.#claiming.hasBacklog && !line.hasBacklog) return false
    // With no slot free the worker does not look: other workers may have claimed everything long before one of its runs ends.
    return this.#capacity.free(line) > 0 || line.slots.perSecond >= BRISK_PER_SECOND
  }

  pace(ref: Line): number {
    return this.#capacity.of(ref).slots.perSecond
  }

  claimed(ref: Line): number {
    return this.#capacity.of(ref).claimed
  }

  reserve(ref: Line, wanted: number): Room {
    if (this.#claiming.hasBacklog || this.#isStopping || this.#isSuspended) return NO_ROOM
    const line = this.#capacity.of(ref)
    if (line.hasBacklog) return NO_ROOM
    const free = Math.min(wanted, this.#capacity.free(line))
    const ahead = Math.min(wanted - free, this.#capacity.ahead(line))
    line.reserved += free + ahead
    return { free, ahead }
  }

  release(ref: Line, count: number): void {
    const line = this.#capacity.of(ref)
    line.reserved -= count
    if ((this.#claiming.hasBacklog || line.hasBacklog) && count > 0) this.#pulling.wake()
    this.#capacity.forgetIfIdle(line)
  }

  begin(runs: readonly ReservedWork[]): void {
    for (const { work, line: ref } of runs) {
      const line = this.#capacity.of(ref)
      line.reserved--
      this.#capacity.takeOn(work, line, 'last')
    }
    this.#fillPlaces()
  }

  putAside(ref: Line): void {
    this.#capacity.of(ref).hasBacklog = true
    this.#lanes.forget()
    this.#pulling.wake()
  }

  /** Called when a target that had no room may have some again. */
  opened({ id }: TargetLine): void {
    const line = this.#capacity.known(id)
    if (!line) return
    this.#fill(line)
    if (line.hasBacklog || line.isSlotKept) this.#pulling.wake()
  }

  /** Called when its labels have changed: the lanes are chosen again. */
  labelsChanged(): void {
    this.#lanes.forget()
    this.#claiming.hasBacklog = true
    this.#pulling.wake()
  }

  doubt(): void {
    this.#returns.doubt()
  }

  async #pull(): Promise<number | undefined> {
    if (this.#isSuspended) return undefined
    this.#returnSurplus()
    this.#capacity.sweep()
    await this.#returns.flush()
    this.#fillPlaces()
    await this.#returns.resolveDoubt((runId) => this.#capacity.holds(runId))
    await this.#claiming.beginClaimed('last')
    if (this.#isStopping) return undefined
    const againInMs = await this.#claiming.runOnce()
    if (this.#returns.hasAside) return 0
    const { lookInMs } = this.#returns
    return lookInMs === undefined ? againInMs : Math.min(againInMs ?? lookInMs, lookInMs)
  }

  /**
   * Returns runs that have waited here much longer than intended, so that other workers can claim them. Not at the first
   * slowdown: handing a run back and claiming it again costs more than the run itself.
   */
  #returnSurplus(): void {
    for (const line of this.#capacity.waitingLines) {
      const kept = 2 * this.#capacity.allowedAhead(line) + this.#capacity.startable(line)
      if (!line.isTooLong(kept, performance.now())) continue
      for (const work of this.#capacity.beyond(line, kept)) this.#aside.add(work, line, false)
    }
  }

  #fillPlaces(): void {
    for (const line of this.#capacity.waitingLines) this.#fill(line)
  }

  #fill(line: WorkLine): void {
    if (this.#isStopping || this.#isSuspended) return
    for (let work = this.#capacity.next(line); work; work = this.#capacity.next(line))
      void this.#perform(work, line)
  }

  async #perform(work: Work, line: WorkLine): Promise<void> {
    const { clock, executor, logs } = this.#options
    const attempt = new Attempt(work, clock, logs)
    this.#capacity.attempts.set(work.runId, attempt)
    const { action } = work.definition
    const ended = isLarge(action)
      ? await this.#performLarge(attempt)
      : await attempt.perform(executor, action)
    this.#capacity.attempts.delete(work.runId)
    this.#claiming.forget(work.runId)
    line.calls?.end(resultOf(work.taskId, ended))
    this.#capacity.ended(line)
    if (ended && isOwnShortage(ended.outcome)) this.#postpone(work, ended.outcome)
    else if (ended) this.#settle(attempt, ended)
    this.#freed(line)
  }

  /**
   * Performs a run whose large action is read only now that it has a slot. If the action cannot be read, the run returns
   * unchanged.
   */
  async #performLarge(attempt: Attempt): Promise<EndedAttempt | undefined> {
    const { work } = attempt
    try {
      const action = await this.#large.read(attempt)
      if (action || attempt.isOver) return await attempt.perform(this.#options.executor, action)
      this.#returns.addUnbegun([leaseOf(work)])
      this.#pulling.wake()
      return undefined
    } finally {
      this.#large.release(work)
    }
  }

  #settle(attempt: Attempt, ended: EndedAttempt): void {
    const { log } = this.#options
    const judgement = judge(ended, Math.random, uuidv7)
    this.#writer.add(judgement)
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
        next: judgement.kind,
        error,
      },
      `attempt ${outcome.kind}`,
    )
  }

  /** Returns a run unchanged, for any node to take: nothing was sent, because this node lacked something of its own. */
  #postpone(work: Work, outcome: Outcome): void {
    const why = 'error' in outcome ? outcome.error.message : ''
    this.#options.log.warn({ task: work.taskId, run: work.runId }, `attempt postponed: ${why}`)
    this.#returns.addUnbegun([leaseOf(work)])
    this.#pulling.wake()
  }

  /** Handles a freed slot: it goes to the next run in hand, and more runs are claimed before none are left. */
  #freed(line: WorkLine): void {
    for (const each of this.#capacity.linesAfter(line)) this.#fill(each)
    const hasBacklog = this.#claiming.hasBacklog || line.hasBacklog
    if (line.isSlotKept || (hasBacklog && line.isLow(this.#claiming.lowSeconds))) this.#pulling.wake()
    if (this.#capacity.attempts.size === 0) this.#onIdle?.()
  }

  /** Returns everything that has not begun. */
  async #handBack(): Promise<void> {
    const waiting = [...this.#capacity.attempts.values()].filter((attempt) => !attempt.hasBegun)
    for (const attempt of waiting) attempt.abandon()
    this.#returns.addUnbegun(waiting.map(({ work }) => leaseOf(work)))
    const claimed = this.#capacity.claimed.splice(0).map(({ run }) => run)
    this.#returns.addUnbegun([...this.#capacity.clear(), ...claimed].map(leaseOf))
    const until = performance.now() + this.#options.graceMs
    for (;;) {
      try {
        return await this.#returns.flush()
      } catch (error) {
        if (performance.now() >= until) throw error
        this.#options.log.warn({ err: error }, 'cannot hand back runs; retrying until the grace period ends')
        await delay(HAND_BACK_PAUSE_MS)
      }
    }
  }

  #endCancelled(work: Work): void {
    const ending = cancelledEnding(work, this.#options.clock.now())
    this.#writer.add({ kind: 'end', ending, isAwaited: true })
  }

  async #cancel(): Promise<undefined> {
    const known = [...this.#capacity.attempts.keys(), ...this.#capacity.waitingIds]
    if (known.length === 0) return
    for (const { runId } of await this.#options.db.run(cancelledAmong(known))) {
      const waiting = this.#capacity.remove(runId)
      if (waiting) this.#endCancelled(waiting)
      else this.#capacity.attempts.get(runId)?.stop('cancelled')
    }
  }
}

/** Picks the fields needed to return a run to its own lane. */
const leaseOf = ({ runId, fence }: LeasedRun): LeasedRun => ({ runId, fence })

/** Returns what an attempt shows about its target; neutral if no call was made. */
function resultOf(taskId: string, ended: EndedAttempt | undefined): CallResult {
  if (!ended || ended.startedAt === null) return { taskId, kind: 'neutral', durationMs: 0 }
  return callResultOf(taskId, ended.outcome, ended.endedAt - ended.startedAt)
}
