/** One attempt performed by a handler: its context, the reasons for stopping it, and its report. */
import { NonRetryable, RetryAt } from './handler-errors.ts'
import type { Level, LogLine, RunLog } from './run-log.ts'

export type LogLevel = Level

/** Why an attempt must stop early. */
export type StopReason = 'cancelled' | 'timed_out' | 'lease_lost' | 'shutdown'

const WHY: Readonly<Record<StopReason, string>> = {
  cancelled: 'The run was cancelled.',
  timed_out: "The attempt exceeded the task's timeout.",
  lease_lost: 'The worker has lost, or may soon lose, its lease on the run.',
  shutdown: 'The worker is stopping.',
}

/** The abort reason of `ctx.signal`. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly why: StopReason

  constructor(why: StopReason) {
    super(WHY[why])
    this.why = why
  }
}

/** Information about the run that a handler performs, and functions to communicate with Belfry meanwhile. */
export interface HandlerContext {
  /** The same for every attempt of a run, so that a receiver can detect repetitions. */
  readonly runId: string
  readonly taskId: string
  /** The instant that the run was due. */
  readonly scheduledFor: Date
  /** Number of the attempt; the first is 1. */
  readonly attempt: number
  /** Increases with every attempt. A system that receives writes on behalf of a run can reject a smaller fence. */
  readonly fence: number
  /** W3C trace context of the attempt. */
  readonly traceparent: string
  /** The task's own tracing id, for your logs and calls. */
  readonly tracingId: string | null
  /** Fires when the attempt must stop; its reason is a `Stopped`. Pass it to every function that accepts a signal. */
  readonly signal: AbortSignal
  /** Sets the progress, from 0 to 1 or in words. It is shown while the run is in progress. */
  progress(fraction: number | null, message?: string): void
  /** Writes a line to the log of the run, which can be followed during the attempt. It returns immediately. */
  log(message: string, level?: LogLevel): void
  /** Contacts Belfry immediately to check whether the run continues: if not, `signal` has fired when the promise resolves. */
  heartbeat(): Promise<void>
}

/** Report of how an attempt ended. */
export interface Report {
  readonly runId: string
  readonly fence: number
  readonly outcome: 'completed' | 'failed' | 'timed_out' | 'cancelled' | 'lost'
  readonly result?: unknown
  readonly error?: {
    readonly code: string
    readonly message: string
    readonly stack?: string
    readonly detail?: Readonly<Record<string, unknown>>
  }
  readonly retryable?: boolean
  readonly retryAt?: string
  readonly retryInMs?: number
  /** The lines of the log that were not sent before, and the number of lines confirmed before them. */
  readonly log?: readonly LogLine[]
  readonly logFirst?: number
}

/**
 * The end of an action, as determined by its performer. Unlike a handler's return value, it is reported unchanged; `result` is
 * kept even if the attempt was stopped.
 */
export class ActionEnd {
  readonly report: Omit<Report, 'runId' | 'fence' | 'log'>

  constructor(report: ActionEnd['report']) {
    this.report = report
  }
}

/** The run that an attempt performs, as assigned by Belfry. */
export interface AssignedRun {
  readonly runId: string
  readonly taskId: string
  readonly payload: unknown
  readonly scheduledFor: string
  readonly attempt: number
  readonly fence: number
  readonly timeoutMs: number
  readonly traceparent: string
  readonly tracingId: string | null
}

/** Inputs of an attempt. */
export interface AttemptOptions extends AssignedRun {
  /** How long to wait for a stopped attempt before it ends without its performer. */
  readonly abandonMs?: number
  readonly log: RunLog
  /** Sends log lines until the rest fits into a report. */
  drain(log: RunLog): Promise<void>
  /** Asks Belfry about all runs in progress. */
  ask(): Promise<void>
  /** Called with the error that the handler threw, even after the attempt has ended without the handler. */
  onThrown(error: unknown): void
}

interface AttemptProgress {
  readonly fraction: number | null
  readonly message: string | null
}

type Settled =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: unknown }

/** How long to wait for a stopped handler before the attempt ends without it. */
const ABANDON_MS = 5_000
const MAX_MESSAGE_CHARACTERS = 4_000
const MAX_STACK_CHARACTERS = 8_000
const MAX_PROGRESS_CHARACTERS = 500

export class Attempt {
  readonly #options: AttemptOptions
  readonly #controller = new AbortController()
  #reason: StopReason | undefined
  #isDisowned = false
  /** The handler has ended, so stopping has no effect any more. */
  #isSettled = false
  #progress: AttemptProgress | undefined
  #abandon: (() => void) | undefined
  #abandonTimer: NodeJS.Timeout | undefined
  #end: () => void = () => {}
  /** Resolves when the attempt is over. */
  readonly ended: Promise<void> = new Promise((resolve) => {
    this.#end = resolve
  })

  constructor(options: AttemptOptions) {
    this.#options = options
  }

  /** Stops the attempt; the first reason counts. The handler has a short time to finish. */
  stop(reason: StopReason): void {
    if (this.#reason !== undefined || this.#isSettled) return
    this.#reason = reason
    const { abandonMs = ABANDON_MS } = this.#options
    this.#abandonTimer = setTimeout(() => this.#abandon?.(), abandonMs)
    this.#controller.abort(new Stopped(reason))
  }

  /** The run now belongs to another worker: nothing is reported about it. */
  disown(): void {
    this.#isDisowned = true
  }

  /** Returns the identity of the run for a heartbeat, with its progress if it changed since the last call. */
  status(): { runId: string; fence: number; progress?: AttemptProgress } {
    const { runId, fence } = this.#options
    const progress = this.#progress
    this.#progress = undefined
    this.#told = progress
    return progress ? { runId, fence, progress } : { runId, fence }
  }

  #told: AttemptProgress | undefined

  /** The last status was not received, so its progress is sent again. */
  tellAgain(): void {
    this.#progress ??= this.#told
  }

  /** Calls the handler. Returns the report; undefined if the run was disowned. */
  async perform(handler: (payload: never, context: HandlerContext) => unknown): Promise<Report | undefined> {
    const { payload, timeoutMs } = this.#options
    const limit = setTimeout(() => this.stop('timed_out'), timeoutMs)
    const performed = this.#call(handler, payload)
    const abandoned = new Promise<Settled>((resolve) => {
      this.#abandon = () => resolve({ ok: false, error: this.#controller.signal.reason })
    })
    const settled = await Promise.race([performed, abandoned])
    clearTimeout(limit)
    clearTimeout(this.#abandonTimer)
    this.#abandon = undefined
    this.#isSettled = true
    const report = this.#report(settled)
    const { log, drain } = this.#options
    log.end()
    await drain(log)
    this.#end()
    const rest = restOf(log)
    return this.#isDisowned ? undefined : { ...report, ...rest }
  }

  async #call(
    handler: (payload: never, context: HandlerContext) => unknown,
    payload: unknown,
  ): Promise<Settled> {
    try {
      return { ok: true, result: await handler(payload as never, this.#context()) }
    } catch (error) {
      if (!this.#isPassedOn(error)) this.#options.onThrown(error)
      return { ok: false, error }
    }
  }

  /** Whether the handler only rethrew the reason for stopping. Functions of Node.js pass the reason as the cause. */
  #isPassedOn(error: unknown): boolean {
    const { aborted, reason } = this.#controller.signal
    return aborted && (error === reason || (error instanceof Error && error.cause === reason))
  }

  #context(): HandlerContext {
    const { runId, taskId, scheduledFor, attempt, fence, traceparent, tracingId, ask } = this.#options
    return {
      runId,
      taskId,
      scheduledFor: new Date(scheduledFor),
      attempt,
      fence,
      traceparent,
      tracingId,
      signal: this.#controller.signal,
      progress: (fraction, message) => {
        const within =
          fraction === null || !Number.isFinite(fraction) ? null : Math.min(1, Math.max(0, fraction))
        this.#progress = {
          fraction: within,
          message: message === undefined ? null : String(message).slice(0, MAX_PROGRESS_CHARACTERS),
        }
      },
      log: (message, level = 'info') => this.#options.log.write(level, message),
      heartbeat: ask,
    }
  }

  #report(settled: Settled): Report {
    const { runId, fence } = this.#options
    const held = { runId, fence }
    if (this.#reason === 'lease_lost') return { ...held, outcome: 'lost' }
    if (settled.ok && settled.result instanceof ActionEnd) return this.#actionReport(held, settled.result)
    if (this.#reason === 'timed_out') return { ...held, outcome: 'timed_out' }
    if (settled.ok) return { ...held, outcome: 'completed', result: settled.result }
    if (this.#reason === 'cancelled') return { ...held, outcome: 'cancelled' }
    const { error } = settled
    const code = this.#reason === 'shutdown' ? 'worker_stopped' : 'handler_failed'
    return {
      ...held,
      outcome: 'failed',
      error: { code, ...described(error) },
      ...(error instanceof NonRetryable ? { retryable: false } : {}),
      ...(error instanceof RetryAt ? wishOf(error) : {}),
    }
  }

  /** An action that ended by itself is reported as it is; if it was stopped, only its result is kept. */
  #actionReport(held: Pick<Report, 'runId' | 'fence'>, { report }: ActionEnd): Report {
    const reason = this.#reason
    if (reason === undefined || (report.outcome === 'completed' && reason !== 'timed_out'))
      return { ...held, ...report }
    const left = report.result === undefined ? {} : { result: report.result }
    if (reason === 'timed_out' || reason === 'cancelled') return { ...held, ...left, outcome: reason }
    return { ...held, ...left, outcome: 'failed', error: { code: 'worker_stopped', message: WHY.shutdown } }
  }
}

/** Returns the unsent lines of the log, which become part of the report. */
function restOf(log: RunLog): Pick<Report, 'log' | 'logFirst'> {
  const { first: logFirst, lines } = log.next(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)
  log.drop()
  return lines.length > 0 ? { log: lines, logFirst } : {}
}

const wishOf = ({ at, inMs }: RetryAt) =>
  inMs === null ? { retryAt: at.toISOString() } : { retryInMs: inMs }

function described(error: unknown): { message: string; stack?: string } {
  if (!(error instanceof Error)) return { message: inWords(error).slice(0, MAX_MESSAGE_CHARACTERS) }
  const message = (error.message || error.name).slice(0, MAX_MESSAGE_CHARACTERS)
  return error.stack ? { message, stack: error.stack.slice(0, MAX_STACK_CHARACTERS) } : { message }
}

/** Converts a thrown value to text. It need not be an error or serialisable. */
function inWords(thrown: unknown): string {
  try {
    return (typeof thrown === 'object' && JSON.stringify(thrown)) || String(thrown)
  } catch {
    return `${typeof thrown} that cannot be shown`
  }
}
