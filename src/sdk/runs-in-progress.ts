/**
 * The runs in progress of a worker: begins an attempt for each, reports how it ended, and asks Belfry at intervals which of
 * them were cancelled or lost.
 */
import { type AssignedRun, Attempt, type StopReason } from './attempt.ts'
import type { Connection, Json } from './connection.ts'
import type { LogSender } from './log-sender.ts'
import { isGone } from './refused.ts'
import type { Registration } from './registration.ts'
import type { Reports } from './reports.ts'
import { RunLog } from './run-log.ts'
import { type WorkerLog, wordsFor } from './worker-log.ts'
import type { Handler } from './worker-options.ts'

/** A run as assigned by Belfry, and what to perform for it. */
export interface GivenRun extends AssignedRun {
  readonly handler: string
  /** The action, for runs that are not for a handler. */
  readonly action?: unknown
}

/** Performs a run, and sets how long to wait for it after the attempt was asked to stop. */
export interface Performer {
  readonly perform: Handler<never>
  readonly abandonMs?: number
}

/** Maximum number of runs per claim and per heartbeat. */
export const MAX_RUNS = 500
/** Interval for asking Belfry about the runs in progress. It determines how quickly a cancellation arrives. */
export const STATUS_MS = 1_500
/** Maximum size of a log in release 0.1.0. */
export const LOG_BYTES_A_REPORT = 60_000

/** Where the runs are performed, reported and asked about. */
export interface RunsOptions {
  readonly connection: Connection
  readonly reports: Reports
  readonly logs: LogSender
  readonly say: WorkerLog
  /** Returns the performer of a run; undefined if the worker does not offer it. */
  performerOf(run: GivenRun): Performer | undefined
  /** Returns the token of the current registration; undefined if there is none. */
  token(): string | undefined
  /** Called when a run has ended, so that its slot is free. */
  onEnded(): void
  /** Called when Belfry has declared the worker dead. */
  onGone(token: string): void
}

export class RunsInProgress {
  readonly #options: RunsOptions
  readonly #attempts = new Map<string, Attempt>()
  readonly #logMemory = { characters: 0 }

  constructor(options: RunsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#attempts.size
  }

  begin(run: GivenRun, { lease, maxLogBytes }: Registration): void {
    const { reports, say, onEnded } = this.#options
    const performer = this.#options.performerOf(run)
    const attempt = this.#attemptOf(run, performer, maxLogBytes)
    lease.take(run)
    this.#attempts.set(run.runId, attempt)
    const perform =
      performer?.perform ??
      (() => Promise.reject(new Error(`the handler '${run.handler}' is not registered`)))
    void attempt.perform(perform).then((report) => {
      // After a new registration, this worker may have been assigned the same run again.
      if (this.#attempts.get(run.runId) === attempt) this.#attempts.delete(run.runId)
      if (report?.outcome === 'timed_out')
        say('warn', `${whatOf(run)} exceeded the timeout of run ${run.runId}`)
      if (report) reports.add(report)
      else lease.letGo(run)
      onEnded()
    })
  }

  #attemptOf(run: GivenRun, performer: Performer | undefined, maxLogBytes: number | null): Attempt {
    const { logs, say } = this.#options
    return new Attempt({
      ...run,
      ...(performer?.abandonMs === undefined ? {} : { abandonMs: performer.abandonMs }),
      log: new RunLog(run, {
        maxBytes: maxLogBytes ?? LOG_BYTES_A_REPORT,
        memory: this.#logMemory,
        onWritten: (log) => maxLogBytes !== null && logs.add(log),
      }),
      drain: (log) => logs.drain(log),
      ask: () => this.ask(),
      onThrown: (error) => say(...wordsFor(error, run)),
    })
  }

  stopAll(reason: StopReason): void {
    for (const attempt of this.#attempts.values()) attempt.stop(reason)
  }

  /** Stops all runs, which Belfry has reassigned: nothing is reported about them. */
  disownAll(): void {
    for (const attempt of this.#attempts.values()) attempt.disown()
    this.stopAll('lease_lost')
  }

  /** Resolves when all runs in progress have ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#attempts.values()].map(({ ended }) => ended))
  }

  /** Reports the progress of the runs in progress, and stops those that were cancelled or lost. */
  async ask(): Promise<void> {
    const token = this.#options.token()
    if (!token || this.#attempts.size === 0) return
    const all = [...this.#attempts.values()]
    try {
      for (let i = 0; i < all.length; i += MAX_RUNS) {
        const runs = all.slice(i, i + MAX_RUNS).map((attempt) => attempt.status())
        this.#hear(await this.#options.connection.post('/v1/worker/heartbeat', { runs }, { token }))
      }
    } catch (error) {
      if (isGone(error)) this.#options.onGone(token)
      else for (const attempt of all) attempt.tellAgain()
    }
  }

  #hear(answer: Json): void {
    const { cancelled, lost } = answer as { cancelled: readonly string[]; lost: readonly string[] }
    for (const runId of cancelled) this.#attempts.get(runId)?.stop('cancelled')
    for (const runId of lost) {
      const attempt = this.#attempts.get(runId)
      attempt?.disown()
      attempt?.stop('lease_lost')
    }
  }
}

const whatOf = ({ handler }: GivenRun) => (handler === '' ? 'an action' : `handler '${handler}'`)
