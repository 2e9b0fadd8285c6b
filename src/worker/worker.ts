/**
 * Claims runs and performs them, up to `concurrency` at once. Runs come from the scheduler of the same
 * process, straight from their fire, or from the transport. A place is held from the claim until the
 * action has ended; the outcome is then the writer's.
 */
import { uuidv7 } from '../core/ids.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database.ts'
import type { Definitions } from '../store/definitions.ts'
import { handBackRuns, heldRuns } from '../store/nodes.ts'
import { cancelledAmong } from '../store/outcomes.ts'
import type { LocalWorker } from '../transport/local-worker.ts'
import type { ClaimedRun, Transport } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { Attempt } from './attempt.ts'
import type { Executor } from './executor.ts'
import { OutcomeWriter } from './outcome-writer.ts'
import { judge } from './verdict.ts'

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
  /** How long runs in progress may go on after `stop`. */
  readonly graceMs: number
}

/** How often ready is looked into when nothing was said about it. */
const POLL_MS = 1_000
const CANCEL_POLL_MS = 1_000
/** Longer than any claim can be under way. */
const DOUBT_MS = 20_000
/** The worker takes on nothing new while this many outcomes wait to be written. */
const MAX_BACKLOG = 10_000

export class Worker implements Service, LocalWorker {
  readonly #options: WorkerOptions
  readonly #attempts = new Map<string, Attempt>()
  readonly #writer: OutcomeWriter
  readonly #pulling: Loop
  readonly #cancelling: Loop
  /** Claimed, but their definitions are not here yet; they hold reserved places. */
  readonly #claimed: ClaimedRun[] = []
  #reserved = 0
  /** Since when runs may be held in this worker's name without its knowing. */
  #doubtSince: number | undefined
  /** Runs may be waiting in ready: they were there first, so nothing is fired past them. */
  #hasBacklog = true
  #isStopping = false
  #onIdle: (() => void) | undefined

  constructor(options: WorkerOptions) {
    this.#options = options
    const { db, wakeUps, log } = options
    this.#writer = new OutcomeWriter({ db, wakeUps, log })
    this.#pulling = new Loop({ name: 'claim', everyMs: POLL_MS, log, runOnce: () => this.#pull() })
    this.#cancelling = new Loop({
      name: 'cancellations',
      everyMs: CANCEL_POLL_MS,
      log,
      runOnce: () => this.#cancel(),
    })
    wakeUps.onReady(() => {
      this.#hasBacklog = true
      this.#pulling.wake()
    })
    wakeUps.onCancel(() => this.#cancelling.wake())
  }

  get id(): string {
    return this.#options.nodeId
  }

  get running(): number {
    return this.#attempts.size
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
    await this.#handBack([...this.#attempts.values()].filter((attempt) => !attempt.hasBegun))
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

  /** Stops everything at once without a word: the runs belong to others now. */
  loseLeases(): void {
    this.#isStopping = true
    for (const attempt of this.#attempts.values()) attempt.stop('lease_lost')
  }

  reserve(wanted: number): number {
    if (this.#hasBacklog || this.#isStopping) return 0
    const places = Math.max(0, Math.min(wanted, this.#free))
    this.#reserved += places
    return places
  }

  release(count: number): void {
    this.#reserved -= count
    if (this.#hasBacklog && count > 0) this.#pulling.wake()
  }

  begin(runs: readonly ClaimedRun[]): void {
    this.#reserved -= runs.length
    for (const run of runs) void this.#perform(run)
  }

  doubt(): void {
    this.#doubtSince ??= this.#options.clock.now()
  }

  get #free(): number {
    if (this.#writer.backlog > MAX_BACKLOG) return 0
    return this.#options.concurrency - this.#attempts.size - this.#reserved
  }

  async #pull(): Promise<number | undefined> {
    if (this.#doubtSince !== undefined) await this.#resolveDoubt(this.#doubtSince)
    if (this.#claimed.length > 0) await this.#beginClaimed()
    const limit = this.#free
    if (limit <= 0 || this.#isStopping) return undefined
    this.#reserved += limit
    let count = 0
    try {
      const runs = await this.#options.transport.claim({ workerId: this.id, limit })
      count = runs.length
      this.#claimed.push(...runs)
    } catch (error) {
      this.doubt()
      throw error
    } finally {
      this.#reserved -= limit - count
    }
    this.#hasBacklog = count === limit
    await this.#beginClaimed()
    return this.#hasBacklog && this.#free > 0 ? 0 : undefined
  }

  async #beginClaimed(): Promise<void> {
    await this.#options.definitions.load(this.#claimed)
    this.begin(this.#claimed.splice(0))
  }

  /**
   * A claim whose answer was lost may have been committed. Such runs are in this worker's name and it does
   * not know them: they are looked for once everything that was under way must have ended, and handed back.
   */
  async #resolveDoubt(since: number): Promise<void> {
    const { db, clock } = this.#options
    if (clock.now() - since < DOUBT_MS) return
    const known = new Set([...this.#attempts.keys(), ...this.#claimed.map(({ runId }) => runId)])
    const held = await db.run(heldRuns({ nodeId: this.id, claimedBefore: clock.now() - DOUBT_MS }))
    const unknown = held.filter(({ runId }) => !known.has(runId) && !this.#writer.knows(runId))
    if (unknown.length > 0) await db.run(handBackRuns(unknown))
    this.#doubtSince = undefined
    if (unknown.length > 0)
      this.#options.log.warn({ count: unknown.length }, 'handed back runs whose claim was never answered')
  }

  async #perform(run: ClaimedRun): Promise<void> {
    const { definitions, clock, executor, log } = this.#options
    const definition = definitions.get(run)
    if (!definition) {
      log.error(
        { task: run.taskId, run: run.runId, version: run.version },
        'a claimed run has no definition; it goes back',
      )
      await this.#options.db.run(handBackRuns([run])).catch(() => {})
      return
    }
    const attempt = new Attempt(run, definition, clock)
    this.#attempts.set(run.runId, attempt)
    const ended = await attempt.perform(executor)
    this.#attempts.delete(run.runId)
    if (ended) {
      const verdict = judge(ended, Math.random, uuidv7)
      const { kind } = ended.outcome
      const fields = {
        task: run.taskId,
        run: run.runId,
        attempt: run.attempt,
        fence: run.fence,
        outcome: kind,
        trace: ended.traceparent,
      }
      if (kind === 'completed') log.debug(fields, 'attempt completed')
      else
        log.info(
          {
            ...fields,
            verdict: verdict.kind,
            error: 'error' in ended.outcome ? ended.outcome.error : undefined,
          },
          `attempt ${kind}`,
        )
      this.#writer.add(verdict)
    }
    if (this.#hasBacklog) this.#pulling.wake()
    if (this.#attempts.size === 0) this.#onIdle?.()
  }

  async #handBack(attempts: readonly Attempt[]): Promise<void> {
    if (attempts.length === 0) return
    for (const attempt of attempts) attempt.abandon()
    await this.#options.db.run(handBackRuns(attempts.map(({ run }) => run)))
    this.#options.wakeUps.announceReady()
  }

  async #cancel(): Promise<undefined> {
    if (this.#attempts.size === 0) return
    for (const { runId } of await this.#options.db.run(cancelledAmong([...this.#attempts.keys()]))) {
      this.#attempts.get(runId)?.stop('cancelled')
    }
  }
}
