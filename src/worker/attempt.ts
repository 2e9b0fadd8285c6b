import assert from 'node:assert/strict'
import type { Action } from '../core/action/action.ts'
import { timedOut, WORKER_STOPPED } from '../core/run/attempt-errors.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { durationMs } from '../core/task/task.ts'
import type { AttemptLog, OpenAttemptLog, RunLogs } from '../logs/run-log.ts'
import type { EndedAttempt } from '../outcomes/judgement.ts'
import { type HoldingClock, holdMs, type Step } from '../runtime/clock.ts'
import type { StopSignal } from '../runtime/stop-signal.ts'
import { traceparentFor } from '../telemetry/traceparent.ts'
import type { Work } from '../transport/transport.ts'
import type { AttemptContext, Executor } from './executor.ts'

/** Why an attempt is asked to stop before it has ended by itself. */
export type StopReason = 'timeout' | 'cancelled' | 'lease_lost' | 'shutdown'

/**
 * One attempt in progress. It waits until the run's instant has come by the database's clock, performs the action, and always
 * ends in an outcome; the first reason to stop it is the one that counts.
 */
export class Attempt implements AttemptContext, StopSignal {
  readonly work: Work
  readonly #clock: HoldingClock
  #stopReason: StopReason | undefined
  #isAbandoned = false
  #endHold: (() => void) | undefined
  #endOver: (() => void) | undefined
  #startedAt: number | null = null
  /** Usually there is only one listener. */
  #listener: (() => void) | undefined
  #others: Set<() => void> | undefined
  #traceparent: string | undefined
  readonly #logs: Pick<RunLogs, 'open'>
  /** Opened on first use: most attempts log nothing. */
  #log: OpenAttemptLog | undefined

  constructor(work: Work, clock: HoldingClock, logs: Pick<RunLogs, 'open'>) {
    this.work = work
    this.#clock = clock
    this.#logs = logs
  }

  get runId(): string {
    return this.work.runId
  }

  get taskId(): string {
    return this.work.taskId
  }

  get scheduledFor(): number {
    return this.work.scheduledFor
  }

  get attempt(): number {
    return this.work.attempt
  }

  get fence(): number {
    return this.work.fence
  }

  get projectId(): string {
    return this.work.definition.projectId
  }

  get secrets(): readonly string[] | null {
    return this.work.definition.secrets
  }

  get tracingId(): string | null {
    return this.work.definition.tracingId
  }

  get hasBegun(): boolean {
    return this.#startedAt !== null
  }

  /** When its action was begun; null while it waits, and if it is stopped before its instant. */
  get startedAt(): number | null {
    return this.#startedAt
  }

  get traceparent(): string {
    this.#traceparent ??= traceparentFor(this.work.definition.traceparent, this.work.runId, this.work.attempt)
    return this.#traceparent
  }

  get log(): AttemptLog {
    this.#log ??= this.#logs.open(this.work)
    return this.#log
  }

  now(): number {
    return this.#clock.now()
  }

  /** The attempt is its own signal. */
  get signal(): StopSignal {
    return this
  }

  get isLost(): boolean {
    return this.#stopReason === 'lease_lost'
  }

  get aborted(): boolean {
    return this.#stopReason !== undefined
  }

  addEventListener(_: 'abort', listener: () => void): void {
    if (this.#listener === undefined) this.#listener = listener
    else if (this.#listener !== listener) {
      this.#others ??= new Set()
      this.#others.add(listener)
    }
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined
    else this.#others?.delete(listener)
  }

  stop(reason: StopReason): void {
    const isFirst = this.#stopReason === undefined
    this.#stopReason ??= reason
    if (isFirst) for (const listener of [this.#listener, ...(this.#others ?? [])]) listener?.()
    this.#endHold?.()
    this.#endOver?.()
  }

  /** Releases a run that has not begun; `perform` then returns undefined. */
  abandon(): void {
    this.#isAbandoned = true
    this.#endHold?.()
    this.#endOver?.()
  }

  /** Whether it was stopped or abandoned. */
  get isOver(): boolean {
    return this.#isAbandoned || this.#stopReason !== undefined
  }

  /** Resolves when the attempt is over, for code that prepares something for it. */
  get over(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#endOver = () => resolve(undefined)
      if (this.isOver) resolve(undefined)
    })
  }

  /**
   * Performs the attempt; returns undefined if it was abandoned before its instant. The action may be undefined only if the
   * attempt is over.
   */
  perform(executor: Executor, action: Action | undefined): Promise<EndedAttempt | undefined> {
    return this.#waitMs() > 0 ? this.#performInTime(executor, action) : this.#performNow(executor, action)
  }

  async #performInTime(executor: Executor, action: Action | undefined): Promise<EndedAttempt | undefined> {
    this.#clock.expect(this.#dueAt)
    while (this.#waitMs() > 0 && !this.isOver) await this.#hold()
    return this.#performNow(executor, action)
  }

  /** Every awaited promise adds to the cost of every run, so this is one function. */
  async #performNow(executor: Executor, action: Action | undefined): Promise<EndedAttempt | undefined> {
    if (this.#isAbandoned) return undefined
    if (this.#stopReason) return this.#ended(this.#stopped(this.#stopReason))
    if (action === undefined) assert.fail(`run ${this.runId} was begun without its action`)
    this.#startedAt = this.#clock.now()
    const limit = setTimeout(stopAtLimit, durationMs(this.work.definition.timeout), this)
    try {
      const outcome = await executor.execute(action, this)
      const reason = this.#stopReason
      if (this.#log) await this.#endLog(this.#log, limit)
      const stopped = this.isLost ? 'lease_lost' : reason
      return this.#ended(stopped ? this.#stopped(stopped, outcome) : outcome)
    } catch (error) {
      const reason = this.#stopReason
      if (this.#log) await this.#endLog(this.#log, limit)
      const stopped = this.isLost ? 'lease_lost' : reason
      return this.#ended(stopped ? this.#stopped(stopped) : failureOf(error))
    } finally {
      clearTimeout(limit)
    }
  }

  /**
   * Ends the log. Storing the rest may take as long as the database does; the timeout no longer applies, because the action has
   * been performed.
   */
  async #endLog(log: OpenAttemptLog, limit: NodeJS.Timeout): Promise<void> {
    clearTimeout(limit)
    await log.end()
  }

  /** Corrects the start time after the database's clock was set, perhaps before this attempt began. */
  correct({ byMs, assuredUntil }: Step): void {
    if (this.#startedAt !== null && this.#startedAt > assuredUntil) this.#startedAt += byMs
  }

  #ended(outcome: Outcome): EndedAttempt {
    const now = this.#clock.now()
    const startedAt = this.#startedAt
    return { work: this.work, outcome, startedAt, endedAt: Math.max(startedAt ?? now, now) }
  }

  /** Keeps the partial output: it is useful to know that a receiver had begun to respond. */
  #stopped(reason: StopReason, partial?: Outcome): Outcome {
    const kept = partial && 'output' in partial ? { output: partial.output } : {}
    switch (reason) {
      case 'timeout':
        return { kind: 'timed_out', error: timedOut(this.work.definition.timeout), ...kept }
      case 'cancelled':
        return { kind: 'cancelled', ...kept }
      case 'lease_lost':
        return { kind: 'lease_lost' }
      case 'shutdown':
        return { kind: 'failed', retryable: true, error: WORKER_STOPPED, ...kept }
    }
  }

  /** Timers may fire slightly early, so the caller checks the clock again afterwards. */
  #hold(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#endHold?.(), this.#waitMs())
      this.#endHold = () => {
        clearTimeout(timer)
        this.#endHold = undefined
        resolve()
      }
    })
  }

  #waitMs(): number {
    return holdMs(this.#clock, this.#dueAt)
  }

  get #dueAt(): number {
    return Math.max(this.work.scheduledFor, this.work.wakeAt)
  }
}

const stopAtLimit = (attempt: Attempt) => attempt.stop('timeout')

const failureOf = (error: unknown): Outcome => ({
  kind: 'failed',
  retryable: true,
  error: { code: 'executor_failed', message: error instanceof Error ? error.message : String(error) },
})
