/**
 * A worker of your own: code in your process that performs runs of handlers. It speaks HTTP to Belfry, holds no
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
import { type AssignedRun, Attempt, type HandlerContext, type StopReason } from './attempt.ts'
import { Connection, type Json, Refused } from './connection.ts'
import { Lease } from './lease.ts'
import { LogSender } from './log-sender.ts'
import { Reports } from './reports.ts'
import { RunLog } from './run-log.ts'
import { sayOnStderr, type WorkerLog, wordsFor } from './worker-log.ts'

export { type HandlerContext, type LogLevel, Stopped, type StopReason } from './attempt.ts'
export { Refused } from './connection.ts'
export { NonRetryable, RetryAt } from './handler-errors.ts'
export type { LogDetails, WorkerLog } from './worker-log.ts'

/** Performs a run. Its return value is stored with the run; an exception fails the attempt. */
export type Handler<Payload = unknown> = (payload: Payload, context: HandlerContext) => unknown

/** Options of a worker. All are optional. */
export interface WorkerOptions {
  /** Address of Belfry's API, or several equivalent addresses. Default: `BELFRY_URL`, else port 3369 on this machine. */
  readonly server?: string | readonly string[]
  /** Certificates of the authority that signed the server's certificate, in PEM form. Default: those of Node.js. */
  readonly ca?: string
  /** API key with the role worker; required once Belfry has any key. Default: `BELFRY_KEY`. */
  readonly key?: string
  /** Maximum number of concurrent runs. Default: 10. */
  readonly concurrency?: number
  /** Labels of this worker, which tasks can require. */
  readonly labels?: readonly string[]
  /** Queues to take runs from. Default: all. */
  readonly queues?: readonly string[]
  /** Name of the worker in lists. Default: host name and process id. */
  readonly name?: string
  /** Version of your program, shown in lists. */
  readonly version?: string
  /** How long runs in progress may go on after `stop`. Default 30 s. */
  readonly graceMs?: number
  /** Receives the worker's own log and the errors of handlers. Default: lines on stderr. */
  readonly log?: WorkerLog
}

/** A valid registration. */
interface Incarnation {
  readonly id: string
  readonly token: string
  readonly lease: Lease
  /** Maximum size of the log of an attempt. Null if the server accepts logs only with the report, as release 0.1.0 does. */
  readonly maxLogBytes: number | null
}

/** A claim request, repeated unchanged until it is answered. */
interface ClaimRequest {
  readonly requestId: string
  readonly limit: number
  readonly waitMs: number
}

/** A run as assigned by Belfry, and what to perform for it. */
export interface GivenRun extends AssignedRun {
  readonly handler: string
  /** The action, for runs that are not for a handler. */
  readonly action?: unknown
}

/** Performs a run, and sets how long to wait for it after the attempt was told to stop. */
export interface Performer {
  readonly perform: Handler<never>
  readonly abandonMs?: number
}

/** Maximum size of a log in release 0.1.0. */
const LOG_BYTES_A_REPORT = 60_000
const DEFAULT_SERVER = 'http://127.0.0.1:3369'
const DEFAULT_CONCURRENCY = 10
const DEFAULT_GRACE_MS = 30_000
const WAIT_MS = 20_000
/** Additional time to wait for a response beyond the requested waiting time. */
const ANSWER_MARGIN_MS = 10_000
/** Maximum number of runs per claim and per heartbeat. */
const MAX_RUNS = 500
/** Interval for asking Belfry about the runs in progress. It determines how quickly a cancellation arrives. */
const STATUS_MS = 1_500
/**
 * While the worker is busy, free slots are collected for this long, since a claim for ten runs costs little more than a claim
 * for one.
 */
const GATHER_MS = 4
/** No more runs are claimed while more reports than this are pending. */
const MAX_UNHEARD = 2_000

export class Worker {
  readonly #options: WorkerOptions
  readonly #concurrency: number
  readonly #handlers = new Map<string, Handler<never>>()
  readonly #attempts = new Map<string, Attempt>()
  readonly #connection: Connection
  readonly #reports: Reports
  readonly #logs: LogSender
  readonly #logMemory = { characters: 0 }
  #incarnation: Incarnation | undefined
  #isStarted = false
  #isStopping = false
  readonly #halt = new AbortController()
  #claiming: Promise<void> = Promise.resolve()
  #stopping: Promise<void> | undefined
  #statusTimer: NodeJS.Timeout | undefined
  #freed: (() => void) | undefined
  /** The claim that was sent and not yet answered: it is repeated unchanged until answered. */
  #unanswered: ClaimRequest | undefined
  /** Stops waiting for the answer to the claim. */
  #cutClaim: (() => void) | undefined
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
      onSettled: (report) => this.#incarnation?.lease.letGo(report),
      onGone: (token) => this.#bury(token),
    })
    this.#logs = new LogSender(this.#connection, {
      warn: (message) => this.#say('warn', message),
      onGone: (token) => this.#bury(token),
    })
  }

  /**
   * The id that Belfry assigned to this worker; undefined before registration. It changes if the worker was declared dead and
   * registers again.
   */
  get id(): string | undefined {
    return this.#incarnation?.id
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
    this.#claiming = this.#claimUntilStopped()
    this.#statusTimer = setInterval(() => void this.#askAboutRuns(), STATUS_MS)
  }

  /**
   * Starts the worker and shuts it down on SIGINT, SIGTERM or `signal`; a second signal stops all runs immediately. Resolves
   * when it has stopped. Rejects if it had to stop because it could not send heartbeats.
   */
  async run({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#isAwaited = true
    let isAsked = false
    const onSignal = () => {
      if (isAsked) this.#stopAll('shutdown')
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
    this.#cutClaim?.()
    this.#freed?.()
    await this.#claiming
    const late = setTimeout(() => this.#stopAll('shutdown'), this.#options.graceMs ?? DEFAULT_GRACE_MS)
    await Promise.all([...this.#attempts.values()].map(({ ended }) => ended))
    clearTimeout(late)
    clearInterval(this.#statusTimer)
    const { token, lease } = this.#incarnation ?? {}
    // After the lease, Belfry has reassigned runs whose reports it has not received.
    await this.#reports.flush(lease?.leaseMs ?? 0)
    if (token) await this.#connection.post('/v1/worker/stop', {}, { token }).catch(() => {})
    await lease?.end()
    this.#connection.close()
  }

  /** How long the runs in progress certainly belong to this worker if no further heartbeat succeeds. */
  protected get certainForMs(): number {
    return this.#incarnation?.lease.certainForMs ?? 0
  }

  /** Logs that the worker has started, and what it provides. */
  protected tellStarted(id: string): void {
    this.#say('info', `worker ${id} provides ${[...this.#handlers.keys()].join(', ')}`)
  }

  /** Maximum size of the log of an attempt. */
  protected get maxLogBytes(): number {
    return this.#incarnation?.maxLogBytes ?? LOG_BYTES_A_REPORT
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
    const { token } = this.#incarnation ?? {}
    if (!token || this.#isStopping) return false
    try {
      await this.#connection.insist('/v1/worker/heartbeat', change, { token, signal: this.#halt.signal })
    } catch (error) {
      if (error instanceof Refused && isGone(error)) this.#bury(token)
      return false
    }
    this.#cutClaim?.()
    return true
  }

  /** Returns the performer of a run; undefined if the worker does not offer it. */
  protected performerOf({ handler: name }: GivenRun): Performer | undefined {
    const perform = this.#handlers.get(name)
    return perform && { perform }
  }

  async #register(): Promise<void> {
    const { key = process.env['BELFRY_KEY'] } = this.#options
    const welcome = await this.#connection.insist('/v1/worker/register', this.introduction(), {
      ...(key ? { token: key } : {}),
      signal: this.#halt.signal,
      onFailure: (why) => this.#say('warn', `cannot register: ${why}; retrying`),
    })
    const {
      workerId: id,
      token,
      heartbeatMs,
      leaseMs,
      maxLogBytes = null,
    } = welcome as {
      workerId: string
      token: string
      heartbeatMs: number
      leaseMs: number
      maxLogBytes?: number
    }
    const lease = new Lease({
      servers: this.#connection.servers,
      ca: this.#options.ca,
      token,
      everyMs: heartbeatMs,
      leaseMs,
      maxRuns: MAX_RUNS,
      onDoubt: () => {
        this.#say('error', 'Belfry was unreachable for most of the lease; stopping the runs of this worker')
        this.#stopAll('lease_lost')
      },
      onCertain: () => {
        this.#say('info', 'Belfry is reachable again')
        this.#freed?.()
      },
      onGone: () => this.#bury(token),
      onBroken: (why) => this.#fail(why),
    })
    this.#incarnation = { id, token, lease, maxLogBytes }
    this.#reports.token = token
    this.#logs.token = token
  }

  /** Without heartbeats, Belfry would reassign every run. The worker stops and reports the failure prominently. */
  #fail(why: string): void {
    if (this.#failure) return
    const failure = new Error(`the heartbeat thread failed: ${why}`)
    this.#failure = failure
    this.#say('error', `${failure.message}; the worker stops`, { error: failure })
    this.#stopAll('lease_lost')
    void this.stop().then(() => {
      // No caller awaits the worker, so the uncaught error ends the process.
      if (!this.#isAwaited) throw failure
    })
  }

  /** Belfry has reassigned this worker's runs, so reports about them would be ignored. */
  #bury(token: string): void {
    if (this.#incarnation?.token !== token) return
    this.#say('warn', `worker ${this.#incarnation.id} was declared dead; its runs were reassigned`)
    void this.#incarnation.lease.end()
    this.#incarnation = undefined
    this.#unanswered = undefined
    for (const attempt of this.#attempts.values()) attempt.disown()
    this.#stopAll('lease_lost')
    this.#reports.forget()
    this.#logs.forget()
    this.#freed?.()
  }

  #stopAll(reason: StopReason): void {
    for (const attempt of this.#attempts.values()) attempt.stop(reason)
  }

  async #claimUntilStopped(): Promise<void> {
    while (!this.#isStopping) {
      try {
        if (!this.#incarnation) await this.#register()
        else if (this.#free === 0 || this.#incarnation.lease.isInDoubt) await this.#untilFreed()
        else await this.#claim(this.#incarnation)
      } catch (error) {
        if (this.#isStopping) return
        if (this.#incarnation && error instanceof Refused && isGone(error))
          this.#bury(this.#incarnation.token)
        else {
          this.#say('warn', `cannot claim: ${error instanceof Error ? error.message : error}`)
          await pause(STATUS_MS)
        }
      }
    }
  }

  get #free(): number {
    return this.#reports.unheard > MAX_UNHEARD ? 0 : this.#concurrency - this.#attempts.size
  }

  async #untilFreed(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, STATUS_MS)
      this.#freed = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#freed = undefined
  }

  async #claim({ token, lease, maxLogBytes }: Incarnation): Promise<void> {
    if (this.#attempts.size > 0 && this.#free < this.#concurrency / 2) await pause(GATHER_MS)
    const limit = Math.min(this.#free, MAX_RUNS)
    if (limit <= 0 || this.#isStopping) return
    const askedAt = performance.now()
    this.#unanswered ??= { requestId: crypto.randomUUID(), limit, waitMs: WAIT_MS }
    const runs = await this.#answerTo(this.#unanswered, token)
    // The claim was cut off because the worker's description changed; it is repeated.
    if (runs === null) return
    this.#unanswered = undefined
    // In the meantime, the worker may have been declared dead, or its lease may be in doubt.
    if (this.#incarnation?.token !== token) return
    if (this.#isStopping || lease.isInDoubt) await this.#giveBack({ token, lease }, runs)
    else for (const run of runs) this.#begin(run, lease, maxLogBytes)
    // A node that is shutting down responds immediately with no runs.
    if (runs.length === 0 && performance.now() - askedAt < WAIT_MS / 2) await pause(GATHER_MS * 25)
  }

  /** Returns the runs of a claim; null if waiting for the answer was cut off. */
  async #answerTo(request: ClaimRequest, token: string): Promise<readonly GivenRun[] | null> {
    const cut = new AbortController()
    this.#cutClaim = () => cut.abort()
    const options = { token, signal: cut.signal, timeoutMs: WAIT_MS + ANSWER_MARGIN_MS }
    try {
      const answer = await this.#connection.insist('/v1/worker/claim', request, options)
      return (answer as { runs: readonly GivenRun[] }).runs
    } catch (error) {
      if (cut.signal.aborted && !this.#isStopping) return null
      throw error
    } finally {
      this.#cutClaim = undefined
    }
  }

  /** If the lease ends before the request succeeds, Belfry takes the runs back anyway. */
  async #giveBack(
    { token, lease }: Pick<Incarnation, 'token' | 'lease'>,
    runs: readonly GivenRun[],
  ): Promise<void> {
    if (runs.length === 0) return
    const held = runs.map(({ runId, fence }) => ({ runId, fence }))
    const signal = AbortSignal.timeout(lease.leaseMs)
    try {
      await this.#connection.insist('/v1/worker/return', { runs: held }, { token, signal })
    } catch (error) {
      if (error instanceof Refused && isGone(error)) this.#bury(token)
    }
  }

  #begin(run: GivenRun, lease: Lease, maxLogBytes: number | null): void {
    const performer = this.performerOf(run)
    const attempt = new Attempt({
      ...run,
      ...(performer?.abandonMs === undefined ? {} : { abandonMs: performer.abandonMs }),
      log: new RunLog(run, {
        maxBytes: maxLogBytes ?? LOG_BYTES_A_REPORT,
        memory: this.#logMemory,
        onWritten: (log) => maxLogBytes !== null && this.#logs.add(log),
      }),
      drain: (log) => this.#logs.drain(log),
      ask: () => this.#askAboutRuns(),
      onThrown: (error) => this.#say(...wordsFor(error, run)),
    })
    lease.take(run)
    this.#attempts.set(run.runId, attempt)
    const perform =
      performer?.perform ??
      (() => Promise.reject(new Error(`the handler '${run.handler}' is not registered`)))
    void attempt.perform(perform).then((report) => {
      // After a new registration, this worker may have been assigned the same run again.
      if (this.#attempts.get(run.runId) === attempt) this.#attempts.delete(run.runId)
      if (report?.outcome === 'timed_out')
        this.#say('warn', `${whatOf(run)} exceeded the timeout of run ${run.runId}`)
      if (report) this.#reports.add(report)
      else lease.letGo(run)
      this.#freed?.()
    })
  }

  /** Reports the progress of the runs in progress, and stops those that were cancelled or lost. */
  async #askAboutRuns(): Promise<void> {
    const { token } = this.#incarnation ?? {}
    if (!token || this.#attempts.size === 0) return
    const all = [...this.#attempts.values()]
    try {
      for (let i = 0; i < all.length; i += MAX_RUNS) {
        const runs = all.slice(i, i + MAX_RUNS).map((attempt) => attempt.status())
        this.#hear(await this.#connection.post('/v1/worker/heartbeat', { runs }, { token }))
      }
    } catch (error) {
      if (error instanceof Refused && isGone(error)) this.#bury(token)
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

  #say(...said: Parameters<WorkerLog>): void {
    const { log = sayOnStderr } = this.#options
    log(...said)
  }
}

const whatOf = ({ handler }: GivenRun) => (handler === '' ? 'an action' : `handler '${handler}'`)

const isGone = ({ status }: Refused) => status === 410 || status === 401

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
