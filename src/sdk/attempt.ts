/** One attempt in a handler's hands: what it is given, when it must stop, and what is reported of it. */
import { NonRetryable, RetryAt } from './handler-errors.ts'
import type { Level, LogLine, RunLog } from './run-log.ts'

export type LogLevel = Level

/** Why an attempt has to stop before it has ended by itself. */
export type StopReason = 'cancelled' | 'timed_out' | 'lease_lost' | 'shutdown'

const WHY: Readonly<Record<StopReason, string>> = {
  cancelled: 'The run was cancelled.',
  timed_out: "The attempt exceeded the task's timeout.",
  lease_lost: 'The worker has lost, or may soon lose, its lease on the run.',
  shutdown: 'The worker is stopping.',
}

/** The reason of `ctx.signal`. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly why: StopReason

  constructor(why: StopReason) {
    super(WHY[why])
    this.why = why
  }
}

/** What a handler knows of the run it performs, and how it speaks to Belfry meanwhile. */
export interface HandlerContext {
  /** The same for every attempt at a run: by it a receiver recognises a repetition. */
  readonly runId: string
  readonly taskId: string
  /** The instant for which the run was scheduled. */
  readonly scheduledFor: Date
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Grows with every attempt: whoever writes on behalf of a run can refuse what carries a smaller one. */
  readonly fence: number
  /** W3C trace context of the attempt. */
  readonly traceparent: string
  /** The id of its own that the task gives, for logs and calls of yours. */
  readonly tracingId: string | null
  /** Fires when the attempt must stop; its reason is a `Stopped`. Give it to everything that takes one. */
  readonly signal: AbortSignal
  /** Says how far it is, from 0 to 1, or in words. It is shown while the run goes on. */
  progress(fraction: number | null, message?: string): void
  /** Writes a line to the log of the run, which can be followed while the attempt goes on. It never waits. */
  log(message: string, level?: LogLevel): void
  /** Tells Belfry at once, and hears whether the run goes on: `signal` has fired by then if it does not. */
  heartbeat(): Promise<void>
}

/** How an attempt ended, as it is reported. */
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
  /** The rest of the log, and how many lines of it were confirmed before. */
  readonly log?: readonly LogLine[]
  readonly logFirst?: number
}

/**
 * How an action ended, as whatever performed it says. Unlike what a handler returns, it is reported as it is; `result` is kept also when
 * the attempt was stopped.
 */
export class ActionEnd {
  readonly report: Omit<Report, 'runId' | 'fence' | 'log'>

  constructor(report: ActionEnd['report']) {
    this.report = report
  }
}

/** What an attempt is made of. */
export interface AttemptOptions {
  readonly runId: string
  readonly taskId: string
  readonly payload: unknown
  readonly scheduledFor: string
  readonly attempt: number
  readonly fence: number
  readonly timeoutMs: number
  readonly traceparent: string
  readonly tracingId: string | null
  /** An attempt that was told to stop is waited for so long; then it ends without what performs it. */
  readonly abandonMs?: number
  readonly log: RunLog
  /** Sends what the log has too much of to go with a report. */
  drain(log: RunLog): Promise<void>
  /** Asks Belfry about all runs in hand. */
  ask(): Promise<void>
  /** Hears what the handler has thrown, also after the attempt has ended without it. */
  onThrown(error: unknown): void
}

interface Progress {
  readonly fraction: number | null
  readonly message: string | null
}

type Settled =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: unknown }

/** A handler that was told to stop is waited for so long; then the attempt ends without it. */
const ABANDON_MS = 5_000
const MAX_MESSAGE_CHARACTERS = 4_000
const MAX_STACK_CHARACTERS = 8_000
const MAX_PROGRESS_CHARACTERS = 500

export class Attempt {
  readonly #options: AttemptOptions
  readonly #controller = new AbortController()
  #reason: StopReason | undefined
  #isDisowned = false
  /** The handler has ended, and nothing can stop it any more. */
  #isSettled = false
  #progress: Progress | undefined
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

  /** The first reason counts. The handler has a moment to come to an end. */
  stop(reason: StopReason): void {
    if (this.#reason !== undefined || this.#isSettled) return
    this.#reason = reason
    const { abandonMs = ABANDON_MS } = this.#options
    this.#abandonTimer = setTimeout(() => this.#abandon?.(), abandonMs)
    this.#controller.abort(new Stopped(reason))
  }

  /** The run is somebody else's: nothing is reported about it. */
  disown(): void {
    this.#isDisowned = true
  }

  /** The run as it is named to Belfry, with what there is to say since the last time. */
  status(): { runId: string; fence: number; progress?: Progress } {
    const { runId, fence } = this.#options
    const progress = this.#progress
    this.#progress = undefined
    this.#told = progress
    return progress ? { runId, fence, progress } : { runId, fence }
  }

  #told: Progress | undefined

  /** What was said last was not heard. */
  tellAgain(): void {
    this.#progress ??= this.#told
  }

  /** Calls the handler; answers what there is to report, if anything. */
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

  /** Whoever passes on why it was told to stop has nothing to say of its own. Node's functions give the reason as the cause. */
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

  /** An action that has ended by itself counts as it ended; of one that was stopped only what it left is kept. */
  #actionReport(held: Pick<Report, 'runId' | 'fence'>, { report }: ActionEnd): Report {
    const reason = this.#reason
    if (reason === undefined || (report.outcome === 'completed' && reason !== 'timed_out'))
      return { ...held, ...report }
    const left = report.result === undefined ? {} : { result: report.result }
    if (reason === 'timed_out' || reason === 'cancelled') return { ...held, ...left, outcome: reason }
    return { ...held, ...left, outcome: 'failed', error: { code: 'worker_stopped', message: WHY.shutdown } }
  }
}

/** What was not sent of a log, which from now on is the report's. */
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

/** What was thrown need not be an error, nor anything that can be written; the attempt has failed all the same. */
function inWords(thrown: unknown): string {
  try {
    return (typeof thrown === 'object' && JSON.stringify(thrown)) || String(thrown)
  } catch {
    return `${typeof thrown} that cannot be shown`
  }
}
