/**
 * Claims runs for a worker while it has free slots. A claim is repeated unchanged until it is answered, so that no run is
 * assigned without the worker hearing of it; runs that arrive too late to be begun are returned.
 */
import type { Connection } from './connection.ts'
import { isGone } from './refused.ts'
import type { Registration } from './registration.ts'
import type { Reports } from './reports.ts'
import { type GivenRun, MAX_RUNS, type RunsInProgress, STATUS_MS } from './runs-in-progress.ts'
import type { WorkerLog } from './worker-log.ts'

/** A claim request, repeated unchanged until it is answered. */
interface ClaimRequest {
  readonly requestId: string
  readonly limit: number
  readonly waitMs: number
}

const WAIT_MS = 20_000
/** Additional time to wait for a response beyond the requested waiting time. */
const ANSWER_MARGIN_MS = 10_000
/**
 * While the worker is busy, free slots are collected for this long, since a claim for ten runs costs little more than a claim
 * for one.
 */
const GATHER_MS = 4
/** No more runs are claimed while more reports than this are pending. */
const MAX_UNHEARD = 2_000

/** What claims need to know of the worker. */
export interface ClaimsOptions {
  readonly connection: Connection
  readonly concurrency: number
  readonly runs: RunsInProgress
  readonly reports: Reports
  readonly say: WorkerLog
  /** Returns the current registration; undefined if there is none. */
  registration(): Registration | undefined
  register(): Promise<void>
  /** Called when Belfry has declared the worker dead. */
  onGone(token: string): void
}

export class Claims {
  readonly #options: ClaimsOptions
  #isStopping = false
  #claiming: Promise<void> = Promise.resolve()
  #freed: (() => void) | undefined
  /** The claim that was sent and not yet answered: it is repeated unchanged until answered. */
  #unanswered: ClaimRequest | undefined
  /** Stops waiting for the answer to the claim. */
  #cutClaim: (() => void) | undefined

  constructor(options: ClaimsOptions) {
    this.#options = options
  }

  start(): void {
    this.#claiming = this.#claimUntilStopped()
  }

  /** Resolves when no claim is in progress. */
  stop(): Promise<void> {
    this.#isStopping = true
    this.#cutClaim?.()
    this.#freed?.()
    return this.#claiming
  }

  /** Claims for slots that have become free. */
  wake(): void {
    this.#freed?.()
  }

  /** Cancels a waiting claim, and sends it again: the worker's description has changed. */
  repeat(): void {
    this.#cutClaim?.()
  }

  /** Forgets the claim of a registration that has ended. */
  forget(): void {
    this.#unanswered = undefined
  }

  async #claimUntilStopped(): Promise<void> {
    const { registration, register, onGone, say } = this.#options
    while (!this.#isStopping) {
      const current = registration()
      try {
        if (!current) await register()
        else if (this.#free === 0 || current.lease.isInDoubt) await this.#untilFreed()
        else await this.#claim(current)
      } catch (error) {
        if (this.#isStopping) return
        const { token } = registration() ?? {}
        if (token !== undefined && isGone(error)) onGone(token)
        else {
          say('warn', `cannot claim: ${error instanceof Error ? error.message : error}`)
          await pause(STATUS_MS)
        }
      }
    }
  }

  get #free(): number {
    const { reports, concurrency, runs } = this.#options
    return reports.unheard > MAX_UNHEARD ? 0 : concurrency - runs.size
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

  async #claim(registration: Registration): Promise<void> {
    const { runs: inProgress, concurrency } = this.#options
    const { token, lease } = registration
    if (inProgress.size > 0 && this.#free < concurrency / 2) await pause(GATHER_MS)
    const limit = Math.min(this.#free, MAX_RUNS)
    if (limit <= 0 || this.#isStopping) return
    const askedAt = performance.now()
    this.#unanswered ??= { requestId: crypto.randomUUID(), limit, waitMs: WAIT_MS }
    const runs = await this.#answerTo(this.#unanswered, token)
    // The claim was cut off because the worker's description changed; it is repeated.
    if (runs === null) return
    this.#unanswered = undefined
    // In the meantime, the worker may have been declared dead, or its lease may be in doubt.
    if (this.#options.registration()?.token !== token) return
    if (this.#isStopping || lease.isInDoubt) await this.#giveBack(registration, runs)
    else for (const run of runs) inProgress.begin(run, registration)
    // A node that is shutting down responds immediately with no runs.
    if (runs.length === 0 && performance.now() - askedAt < WAIT_MS / 2) await pause(GATHER_MS * 25)
  }

  /** Returns the runs of a claim; null if waiting for the answer was cut off. */
  async #answerTo(request: ClaimRequest, token: string): Promise<readonly GivenRun[] | null> {
    const cut = new AbortController()
    this.#cutClaim = () => cut.abort()
    const options = { token, signal: cut.signal, timeoutMs: WAIT_MS + ANSWER_MARGIN_MS }
    try {
      const answer = await this.#options.connection.insist('/v1/worker/claim', request, options)
      return (answer as { runs: readonly GivenRun[] }).runs
    } catch (error) {
      if (cut.signal.aborted && !this.#isStopping) return null
      throw error
    } finally {
      this.#cutClaim = undefined
    }
  }

  /** If the lease ends before the request succeeds, Belfry takes the runs back anyway. */
  async #giveBack({ token, lease }: Registration, runs: readonly GivenRun[]): Promise<void> {
    if (runs.length === 0) return
    const held = runs.map(({ runId, fence }) => ({ runId, fence }))
    const signal = AbortSignal.timeout(lease.leaseMs)
    try {
      await this.#options.connection.insist('/v1/worker/return', { runs: held }, { token, signal })
    } catch (error) {
      if (isGone(error)) this.#options.onGone(token)
    }
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
