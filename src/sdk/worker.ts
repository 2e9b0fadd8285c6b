/**
 * Your own worker: code in your process that performs runs of handlers. It speaks HTTP to Belfry, holds no
 * connection to a database, and may be one of hundreds.
 *
 *     const worker = new Worker({ server: 'http://127.0.0.1:3369', concurrency: 20 })
 *     worker.handle('resize', async (payload, ctx) => { … })
 *     await worker.run()
 *
 * What it promises: a run is in the hands of one worker at a time; a worker that cannot reach Belfry stops its runs
 * before they are given to another; what a handler returned is reported until Belfry has heard it.
 */
import { hostname } from 'node:os'
import { Claims } from './claims.ts'
import { Connection } from './connection.ts'
import { LogSender } from './log-sender.ts'
import { isGone } from './refused.ts'
import { type Registration, register } from './registration.ts'
import { Reports } from './reports.ts'
import {
  type GivenRun,
  LOG_BYTES_A_REPORT,
  type Performer,
  RunsInProgress,
  STATUS_MS,
} from './runs-in-progress.ts'
import { sayOnStderr, type WorkerLog } from './worker-log.ts'
import type { Handler, WorkerOptions } from './worker-options.ts'

export { type HandlerContext, type LogLevel, Stopped, type StopReason } from './attempt.ts'
export { NonRetryable, RetryAt } from './handler-errors.ts'
export { Refused } from './refused.ts'
export type { GivenRun, Performer } from './runs-in-progress.ts'
export type { LogDetails, WorkerLog } from './worker-log.ts'
export type { Handler, WorkerOptions } from './worker-options.ts'

const DEFAULT_SERVER = 'http://127.0.0.1:3369'
const DEFAULT_CONCURRENCY = 10
const DEFAULT_GRACE_MS = 30_000

export class Worker {
  readonly #options: WorkerOptions
  readonly #concurrency: number
  readonly #handlers = new Map<string, Handler<never>>()
  readonly #connection: Connection
  readonly #reports: Reports
  readonly #logs: LogSender
  readonly #runs: RunsInProgress
  readonly #claims: Claims
  #registration: Registration | undefined
  #isStarted = false
  #isStopping = false
  readonly #halt = new AbortController()
  #stopping: Promise<void> | undefined
  #statusTimer: NodeJS.Timeout | undefined
  /** Why this worker cannot go on. */
  #failure: Error | undefined
  #isAwaited = false

  constructor(options: WorkerOptions = {}) {
    const { server = process.env['BELFRY_URL'] ?? DEFAULT_SERVER, concurrency = DEFAULT_CONCURRENCY } =
      options
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 10_000)
      throw new TypeError(`concurrency must be a whole number from 1 to 10000, not ${concurrency}`)
    this.#options = options
    this.#concurrency = concurrency
    this.#connection = new Connection(typeof server === 'string' ? [server] : server, options.ca)
    this.#reports = new Reports(this.#connection, {
      warn: (message) => this.#say('warn', message),
      onSettled: (report) => this.#registration?.lease.letGo(report),
      onGone: (token) => this.#bury(token),
    })
    this.#logs = new LogSender(this.#connection, {
      warn: (message) => this.#say('warn', message),
      onGone: (token) => this.#bury(token),
    })
    const shared = {
      connection: this.#connection,
      reports: this.#reports,
      say: (...said: Parameters<WorkerLog>) => this.#say(...said),
      onGone: (token: string) => this.#bury(token),
    }
    this.#runs = new RunsInProgress({
      ...shared,
      logs: this.#logs,
      performerOf: (run) => this.performerOf(run),
      token: () => this.#registration?.token,
      onEnded: () => this.#claims.wake(),
    })
    this.#claims = new Claims({
      ...shared,
      concurrency,
      runs: this.#runs,
      registration: () => this.#registration,
      register: () => this.#register(),
    })
  }

  /**
   * The id that Belfry assigned to this worker; undefined before registration. It changes if the worker was declared dead and
   * registers again.
   */
  get id(): string | undefined {
    return this.#registration?.id
  }

  /** Registers a handler. Register all handlers before `start`. */
  handle<Payload = unknown>(name: string, handler: Handler<Payload>): this {
    if (this.#isStarted)
      throw new Error(`handle('${name}') was called after start(); register handlers before start()`)
    if (this.#handlers.has(name)) throw new Error(`the handler '${name}' is already registered`)
    this.#handlers.set(name, handler as Handler<never>)
    return this
  }

  /**
   * Registers the worker and begins to claim runs. Resolves when the worker is registered; waits for a server that is not
   * available yet.
   */
  async start(): Promise<void> {
    if (this.#isStarted) throw new Error('this worker was already started; create a new one')
    if (!this.isUseful) throw new Error("the worker has no handlers; call handle('name', …) first")
    this.#isStarted = true
    await this.#register()
    this.#claims.start()
    this.#statusTimer = setInterval(() => void this.#runs.ask(), STATUS_MS)
  }

  /**
   * Starts the worker and shuts it down on SIGINT, SIGTERM or `signal`; a second signal stops all runs immediately. Resolves
   * when it has stopped. Rejects if it had to stop because it could not send heartbeats.
   */
  async run({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#isAwaited = true
    let isAsked = false
    const onSignal = () => {
      if (isAsked) this.#runs.stopAll('shutdown')
      isAsked = true
      void this.stop()
    }
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal)
    signal?.addEventListener('abort', onSignal)
    try {
      await this.start().catch((error: unknown) => {
        if (!this.#isStopping) throw error
      })
      if (signal?.aborted) onSignal()
      if (this.id !== undefined) this.tellStarted(this.id)
      await new Promise<void>((resolve) => {
        if (this.#halt.signal.aborted) resolve()
        this.#halt.signal.addEventListener('abort', () => resolve())
      })
      await this.stop()
      if (this.#failure) throw this.#failure
    } finally {
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal)
      signal?.removeEventListener('abort', onSignal)
    }
  }

  /**
   * Stops claiming, lets runs in progress finish within the grace period, reports all of them, and signs off. Runs that are cut
   * off count as failed attempts and are retried.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#isStopping = true
    this.#halt.abort()
    await this.#claims.stop()
    const late = setTimeout(() => this.#runs.stopAll('shutdown'), this.#options.graceMs ?? DEFAULT_GRACE_MS)
    await this.#runs.ended()
    clearTimeout(late)
    clearInterval(this.#statusTimer)
    const { token, lease } = this.#registration ?? {}
    // After the lease, Belfry has reassigned runs whose reports it has not received.
    await this.#reports.flush(lease?.leaseMs ?? 0)
    if (token) await this.#connection.post('/v1/worker/stop', {}, { token }).catch(() => {})
    await lease?.end()
    this.#connection.close()
  }

  /** How long the runs in progress certainly belong to this worker if no further heartbeat succeeds. */
  protected get certainForMs(): number {
    return this.#registration?.lease.certainForMs ?? 0
  }

  /** Logs that the worker has started, and what it provides. */
  protected tellStarted(id: string): void {
    this.#say('info', `worker ${id} provides ${[...this.#handlers.keys()].join(', ')}`)
  }

  /** Maximum size of the log of an attempt. */
  protected get maxLogBytes(): number {
    return this.#registration?.maxLogBytes ?? LOG_BYTES_A_REPORT
  }

  /** Whether the worker can perform any runs. */
  protected get isUseful(): boolean {
    return this.#handlers.size > 0
  }

  /** Returns the registration data of this worker. */
  protected introduction(): Record<string, unknown> {
    const { name = `${hostname()}/${process.pid}`, version, labels, queues } = this.#options
    return {
      handlers: [...this.#handlers.keys()],
      name,
      concurrency: this.#concurrency,
      ...(version === undefined ? {} : { version }),
      ...(labels === undefined ? {} : { labels }),
      ...(queues === undefined ? {} : { queues }),
    }
  }

  /**
   * Reports a change of this worker to Belfry, until it is received. Returns false if it cannot be delivered. A waiting claim
   * is cancelled and sent again.
   */
  protected async tellChange(change: Record<string, unknown>): Promise<boolean> {
    const { token } = this.#registration ?? {}
    if (!token || this.#isStopping) return false
    try {
      await this.#connection.insist('/v1/worker/heartbeat', change, { token, signal: this.#halt.signal })
    } catch (error) {
      if (isGone(error)) this.#bury(token)
      return false
    }
    this.#claims.repeat()
    return true
  }

  /** Returns the performer of a run; undefined if the worker does not offer it. */
  protected performerOf({ handler: name }: GivenRun): Performer | undefined {
    const perform = this.#handlers.get(name)
    return perform && { perform }
  }

  async #register(): Promise<void> {
    const { key = process.env['BELFRY_KEY'], ca } = this.#options
    this.#registration = await register({
      connection: this.#connection,
      key,
      ca,
      introduction: this.introduction(),
      signal: this.#halt.signal,
      onFailure: (why) => this.#say('warn', `cannot register: ${why}; retrying`),
      onDoubt: () => {
        this.#say('error', 'Belfry was unreachable for most of the lease; stopping the runs of this worker')
        this.#runs.stopAll('lease_lost')
      },
      onCertain: () => {
        this.#say('info', 'Belfry is reachable again')
        this.#claims.wake()
      },
      onGone: (token) => this.#bury(token),
      onBroken: (why) => this.#fail(why),
    })
    const { token } = this.#registration
    this.#reports.token = token
    this.#logs.token = token
  }

  /** Without heartbeats, Belfry would reassign every run. The worker stops and reports the failure prominently. */
  #fail(why: string): void {
    if (this.#failure) return
    const failure = new Error(`the heartbeat thread failed: ${why}`)
    this.#failure = failure
    this.#say('error', `${failure.message}; the worker stops`, { error: failure })
    this.#runs.stopAll('lease_lost')
    void this.stop().then(() => {
      // No caller awaits the worker, so the uncaught error ends the process.
      if (!this.#isAwaited) throw failure
    })
  }

  /** Belfry has reassigned this worker's runs, so reports about them would be ignored. */
  #bury(token: string): void {
    if (this.#registration?.token !== token) return
    this.#say('warn', `worker ${this.#registration.id} was declared dead; its runs were reassigned`)
    void this.#registration.lease.end()
    this.#registration = undefined
    this.#claims.forget()
    this.#runs.disownAll()
    this.#reports.forget()
    this.#logs.forget()
    this.#claims.wake()
  }

  #say(...said: Parameters<WorkerLog>): void {
    const { log = sayOnStderr } = this.#options
    log(...said)
  }
}
