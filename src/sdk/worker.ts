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
import { Attempt, type HandlerContext, type StopReason } from './attempt.ts'
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

/** Performs a run. What it returns is kept with the run; what it throws makes the attempt fail. */
export type Handler<Payload = unknown> = (payload: Payload, context: HandlerContext) => unknown

/** How a worker is set up. Nothing is required. */
export interface WorkerOptions {
  /** Where Belfry's API answers, or several such places: any of them will do. Default `BELFRY_URL`, else port 3369 here. */
  readonly server?: string | readonly string[]
  /** Certificates of the authority that signed the server's own, in PEM form. Default: those that Node.js trusts. */
  readonly ca?: string
  /** An API key of the role worker; needed as soon as Belfry has any key. Default `BELFRY_KEY`. */
  readonly key?: string
  /** Runs performed at once. Default 10. */
  readonly concurrency?: number
  /** What this worker is able to do: tasks may ask for it. */
  readonly labels?: readonly string[]
  /** Take runs from these queues only. Default all. */
  readonly queues?: readonly string[]
  /** How others see it in lists. Default host and process. */
  readonly name?: string
  /** Of your program; others see it in lists. */
  readonly version?: string
  /** How long runs in progress may go on after `stop`. Default 30 s. */
  readonly graceMs?: number
  /** Hears what the worker has to say about itself, and what handlers throw. Default: lines on stderr. */
  readonly log?: WorkerLog
}

/** A registration, for as long as it holds. */
interface Incarnation {
  readonly id: string
  readonly token: string
  readonly lease: Lease
  /** What Belfry keeps of the log of an attempt; null: it takes it with the report alone, as release 0.1.0 does. */
  readonly maxLogBytes: number | null
}

/** A claim as it is sent, once or more often. */
interface ClaimRequest {
  readonly requestId: string
  readonly limit: number
  readonly waitMs: number
}

/** A run as Belfry gives it out. */
export interface GivenRun {
  readonly runId: string
  readonly taskId: string
  readonly handler: string
  readonly payload: unknown
  readonly scheduledFor: string
  readonly attempt: number
  readonly fence: number
  readonly timeoutMs: number
  readonly traceparent: string
  readonly tracingId: string | null
  /** What is to be done, of a run that is not of a handler. */
  readonly action?: unknown
}

/** What performs a run, and for how long it is waited for once the attempt was told to stop. */
export interface Performer {
  readonly perform: Handler<never>
  readonly abandonMs?: number
}

/** What release 0.1.0 keeps of a log. */
const LOG_BYTES_A_REPORT = 60_000
const DEFAULT_SERVER = 'http://127.0.0.1:3369'
const DEFAULT_CONCURRENCY = 10
const DEFAULT_GRACE_MS = 30_000
const WAIT_MS = 20_000
/** An answer that comes this much later than it was asked for is not waited for. */
const ANSWER_MARGIN_MS = 10_000
/** Runs that one claim, and one question about runs in hand, may be about. */
const MAX_RUNS = 500
/** How often Belfry is asked what became of the runs in hand: so quickly does a cancellation arrive. */
const STATUS_MS = 1_500
/** While the worker is busy, places that come free are gathered for so long: a claim for ten costs little more than one for one. */
const GATHER_MS = 4
/** No more is taken on while so many reports wait to be heard. */
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
  /** The claim that was sent and not answered: it is repeated as it is until it was. */
  #unanswered: ClaimRequest | undefined
  /** Gives up waiting for its answer. */
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

  /** How Belfry calls this worker; undefined before it has started. It is another one after it was thought dead. */
  get id(): string | undefined {
    return this.#incarnation?.id
  }

  /** Offers a handler. All of them are offered before `start`. */
  handle<Payload = unknown>(name: string, handler: Handler<Payload>): this {
    if (this.#isStarted)
      throw new Error(`handle('${name}') was called after start(); register handlers before start()`)
    if (this.#handlers.has(name)) throw new Error(`the handler '${name}' is already registered`)
    this.#handlers.set(name, handler as Handler<never>)
    return this
  }

  /** Introduces the worker and begins to take runs. Resolves when Belfry knows it; waits for a server that is not there yet. */
  async start(): Promise<void> {
    if (this.#isStarted) throw new Error('this worker was already started; create a new one')
    if (!this.isUseful) throw new Error("the worker has no handlers; call handle('name', …) first")
    this.#isStarted = true
    await this.#register()
    this.#claiming = this.#claimUntilStopped()
    this.#statusTimer = setInterval(() => void this.#askAboutRuns(), STATUS_MS)
  }

  /**
   * Starts, and stops in order on SIGINT, SIGTERM or `signal`; a second one stops at once. Resolves when it has stopped, and
   * rejects when it had to because it cannot show Belfry that it lives.
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
   * Takes on no more, lets runs in progress finish within the grace period, reports all of them, and says goodbye.
   * What is cut off then counts as a failed attempt and is tried again.
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
    // What Belfry has not heard by then it has given to others.
    await this.#reports.flush(lease?.leaseMs ?? 0)
    if (token) await this.#connection.post('/v1/worker/stop', {}, { token }).catch(() => {})
    await lease?.end()
    this.#connection.close()
  }

  /** For so long the runs in hand are this worker's for sure, if nothing more is heard from Belfry. */
  protected get certainForMs(): number {
    return this.#incarnation?.lease.certainForMs ?? 0
  }

  /** Says that it is there, and what it is there for. */
  protected tellStarted(id: string): void {
    this.#say('info', `worker ${id} provides ${[...this.#handlers.keys()].join(', ')}`)
  }

  /** What Belfry keeps of the log of an attempt. */
  protected get maxLogBytes(): number {
    return this.#incarnation?.maxLogBytes ?? LOG_BYTES_A_REPORT
  }

  /** Whether there is anything that this worker could be given. */
  protected get isUseful(): boolean {
    return this.#handlers.size > 0
  }

  /** What Belfry is told about this worker. */
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

  /** Tells Belfry what has changed about this worker, until it was heard; false where nobody hears it. A claim that waits is made anew. */
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

  /** What performs a run; undefined for one that is not offered. */
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

  /** Without beats every run would be taken from this worker. It stops, and says so where it cannot be overlooked. */
  #fail(why: string): void {
    if (this.#failure) return
    const failure = new Error(`the heartbeat thread failed: ${why}`)
    this.#failure = failure
    this.#say('error', `${failure.message}; the worker stops`, { error: failure })
    this.#stopAll('lease_lost')
    void this.stop().then(() => {
      // Nobody waits for an answer: as an error that nobody catches it ends the process.
      if (!this.#isAwaited) throw failure
    })
  }

  /** Others have taken our runs: nothing that we could say about them counts. */
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
    // It is asked again, as what this worker is now.
    if (runs === null) return
    this.#unanswered = undefined
    // Meanwhile others may have been told that this worker is dead, or it may think so itself.
    if (this.#incarnation?.token !== token) return
    if (this.#isStopping || lease.isInDoubt) await this.#giveBack({ token, lease }, runs)
    else for (const run of runs) this.#begin(run, lease, maxLogBytes)
    // A node that stops answers at once and with nothing.
    if (runs.length === 0 && performance.now() - askedAt < WAIT_MS / 2) await pause(GATHER_MS * 25)
  }

  /** The runs that a claim is answered with; null when its answer was not waited for. */
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

  /** What is not heard within the lease is taken from this worker anyway. */
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
      // Under another name this worker may have been given the same run again.
      if (this.#attempts.get(run.runId) === attempt) this.#attempts.delete(run.runId)
      if (report?.outcome === 'timed_out')
        this.#say('warn', `${whatOf(run)} exceeded the timeout of run ${run.runId}`)
      if (report) this.#reports.add(report)
      else lease.letGo(run)
      this.#freed?.()
    })
  }

  /** Tells how far the runs in hand are, and hears which of them must stop. */
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
