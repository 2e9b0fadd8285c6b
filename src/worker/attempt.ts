import type { Outcome } from '../core/outcome.ts'
import { durationMs, type TaskDefinition } from '../core/task.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ClaimedRun } from '../transport/transport.ts'
import type { Executor } from './executor.ts'
import { traceparentFor } from './traceparent.ts'
import type { EndedAttempt } from './verdict.ts'

/** Why an attempt is told to stop before it has ended by itself. */
export type StopReason = 'timeout' | 'cancelled' | 'lease_lost' | 'shutdown'

/**
 * One attempt in progress. It holds the run until its instant has come on the database's clock, performs
 * the action, and ends in an outcome whatever happens; the first reason to stop it is the one that counts.
 */
export class Attempt {
  readonly run: ClaimedRun
  readonly #definition: TaskDefinition
  readonly #clock: Clock
  readonly #controller = new AbortController()
  #stopReason: StopReason | undefined
  #hold: { timer: NodeJS.Timeout; end: (begun: boolean) => void } | undefined
  #hasBegun = false
  readonly #traceparent: string

  constructor(run: ClaimedRun, definition: TaskDefinition, clock: Clock) {
    this.run = run
    this.#traceparent = traceparentFor(definition.traceparent, run.runId, run.attempt)
    this.#definition = definition
    this.#clock = clock
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  stop(reason: StopReason): void {
    this.#stopReason ??= reason
    this.#controller.abort()
    if (this.#hold) this.#hold.end(false)
  }

  /** Lets go of a run that has not begun; `perform` then answers undefined. */
  abandon(): void {
    this.#hold?.end(false)
  }

  /** Performs the attempt; undefined when it was abandoned before its instant. */
  async perform(executor: Executor): Promise<EndedAttempt | undefined> {
    const { run, definition } = { run: this.run, definition: this.#definition }
    if (!(await this.#holdUntilDue()) && this.#stopReason === undefined) return undefined
    this.#hasBegun = true
    const startedAt = this.#clock.now()
    const outcome = this.#stopReason ? this.#stopped(this.#stopReason) : await this.#execute(executor)
    return {
      run,
      definition,
      outcome,
      startedAt,
      endedAt: Math.max(startedAt, this.#clock.now()),
      traceparent: this.#traceparent,
    }
  }

  async #execute(executor: Executor): Promise<Outcome> {
    const { runId, taskId, scheduledFor, attempt, fence } = this.run
    const limit = setTimeout(() => this.stop('timeout'), durationMs(this.#definition.timeout))
    const aborted = new Promise<void>((resolve) =>
      this.#controller.signal.addEventListener('abort', () => resolve(), { once: true }),
    )
    try {
      const context = {
        runId,
        taskId,
        scheduledFor,
        attempt,
        fence,
        traceparent: this.#traceparent,
        signal: this.#controller.signal,
      }
      const outcome = await Promise.race([executor.execute(this.#definition.action, context), aborted])
      return this.#stopReason ? this.#stopped(this.#stopReason) : (outcome ?? this.#stopped('lease_lost'))
    } catch (error) {
      if (this.#stopReason) return this.#stopped(this.#stopReason)
      const message = error instanceof Error ? error.message : String(error)
      return { kind: 'failed', retryable: true, error: { code: 'executor_failed', message } }
    } finally {
      clearTimeout(limit)
    }
  }

  #stopped(reason: StopReason): Outcome {
    switch (reason) {
      case 'timeout': {
        const message = `The attempt was stopped after ${this.#definition.timeout}, the task's time limit.`
        return { kind: 'timed_out', error: { code: 'timed_out', message } }
      }
      case 'cancelled':
        return { kind: 'cancelled' }
      case 'lease_lost':
        return { kind: 'lease_lost' }
      case 'shutdown': {
        const message = 'The worker was stopped before the attempt had ended.'
        return { kind: 'failed', retryable: true, error: { code: 'worker_stopped', message } }
      }
    }
  }

  /** Timers may fire a little early, so the clock is asked again each time one does. */
  async #holdUntilDue(): Promise<boolean> {
    for (let waitMs = this.#waitMs(); waitMs > 0; waitMs = this.#waitMs()) {
      const begun = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(true), Math.min(Math.ceil(waitMs), 1_000))
        this.#hold = {
          timer,
          end: (value) => {
            clearTimeout(timer)
            resolve(value)
          },
        }
      })
      this.#hold = undefined
      if (!begun) return false
    }
    return true
  }

  #waitMs(): number {
    return this.run.scheduledFor - this.#clock.now()
  }
}
