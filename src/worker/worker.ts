/**
 * Performs runs: up to `concurrency` at once of those that work on this machine, and as many calls as their targets have room
 * for. Runs come from the scheduler of the same process, which fires them into the worker (local-room.ts), or from the transport
 * (claiming.ts). performer.ts decides how they continue.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { RunLogs } from '../logs/run-log.ts'
import { cancelledEnding } from '../outcomes/lost-attempt.ts'
import { OutcomeWriter } from '../outcomes/outcome-writer.ts'
import type { TargetBook } from '../outgoing/targets/target-book.ts'
import type { TargetLine } from '../outgoing/targets/target-line.ts'
import type { HoldingClock } from '../runtime/clock.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { cancelledAmong } from '../store/agenda/outcomes.ts'
import type { Database } from '../store/database/database.ts'
import type { LeasedRun } from '../store/nodes/leased-runs.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { LocalWorker } from '../transport/local-worker.ts'
import { UnclaimableRuns } from '../transport/postgres/unclaimable-runs.ts'
import type { Taking, Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { Attempt } from './attempt.ts'
import { Capacity } from './capacity.ts'
import { Claiming } from './claiming.ts'
import type { Executor } from './executor.ts'
import { LargeActions } from './large-actions.ts'
import { LocalRoom } from './local-room.ts'
import { Performer, resultOf } from './performer.ts'
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

/** A worker that stops and cannot hand back its runs tries again after this long. */
const HAND_BACK_PAUSE_MS = 250
export class Worker implements Service {
  readonly #options: WorkerOptions
  readonly #capacity: Capacity
  readonly #claiming: Claiming
  readonly #lanes: ServedLanes
  readonly #writer: OutcomeWriter
  readonly #returns: Returns
  readonly #aside: PutAside
  readonly #performer: Performer
  /** What the scheduler of the same process uses of this worker. */
  readonly local: LocalWorker
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
      doubt: () => this.#returns.doubt(),
    })
    this.#performer = new Performer({
      ...{ executor: options.executor, log, writer: this.#writer },
      large: new LargeActions({ definitions, log }),
      giveBack: (run) => this.#giveBack(run),
    })
    this.local = new LocalRoom({
      ...{ id: nodeId, capacity: this.#capacity, claiming: this.#claiming, lanes: this.#lanes },
      isOpen: () => !this.#isStopping && !this.#isSuspended,
      fillPlaces: () => this.#fillPlaces(),
      pull: () => this.#pulling.wake(),
      doubt: () => this.#returns.doubt(),
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
    const { clock, logs } = this.#options
    const attempt = new Attempt(work, clock, logs)
    this.#capacity.attempts.set(work.runId, attempt)
    const ended = await this.#performer.perform(attempt)
    this.#capacity.attempts.delete(work.runId)
    this.#claiming.forget(work.runId)
    line.calls?.end(resultOf(work.taskId, ended))
    this.#capacity.ended(line)
    if (ended) this.#performer.settle(attempt, ended)
    this.#freed(line)
  }

  /** Returns a run unchanged, for any node to take. */
  #giveBack(work: Work): void {
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
