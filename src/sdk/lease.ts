/**
 * Tracks how long this worker can be certain that its runs belong to it. A separate thread sends the heartbeats
 * (beat-thread.ts), so that a handler that blocks the main thread does not lose the lease; this module acts on their results. A
 * worker without a successful heartbeat for most of its lease stops its runs before other workers can start them.
 */
import { Worker as Thread } from 'node:worker_threads'
import { BEAT_THREAD } from './beat-thread.ts'

/** A run in progress. */
interface LeasedRun {
  readonly runId: string
  readonly fence: number
}

export interface LeaseOptions {
  readonly servers: readonly string[]
  /** Certificates to trust, in PEM form. */
  readonly ca?: string | undefined
  readonly token: string
  readonly everyMs: number
  readonly leaseMs: number
  /** Maximum number of runs in one heartbeat. */
  readonly maxRuns: number
  /** Called when Belfry may soon reassign the runs. */
  onDoubt(): void
  /** Called when the lease is certain again: the runs were not reassigned. */
  onCertain(): void
  /** Called when Belfry has declared the worker dead and reassigned its runs. */
  onGone(): void
  /** Called when the thread cannot be kept running: without heartbeats, the worker cannot continue. */
  onBroken(why: string): void
}

/** Share of the lease that is reserved for stopping runs. */
const SAFETY = 0.25
const LONGEST_CHECK_MS = 250
const NS_PER_MS = 1_000_000n
/** Maximum number of restarts of a thread that ends unexpectedly, without a successful heartbeat in between. */
const MAX_RESTARTS = 3
const RESTART_MS = 200

export class Lease {
  readonly #options: LeaseOptions
  readonly #lastBeat = new SharedArrayBuffer(8)
  readonly #leased = new Map<string, LeasedRun>()
  readonly #check: NodeJS.Timeout
  #thread: Thread | undefined
  /** Time of the last successful heartbeat when the thread was started. */
  #beatAtStart = 0n
  #restarts = 0
  #isInDoubt = false
  #isEnded = false

  constructor(options: LeaseOptions) {
    this.#options = options
    // The registration counts as a heartbeat.
    Atomics.store(new BigInt64Array(this.#lastBeat), 0, process.hrtime.bigint())
    this.#check = setInterval(() => this.#look(), Math.min(LONGEST_CHECK_MS, options.leaseMs / 20))
    this.#check.unref()
    this.#startThread()
  }

  get leaseMs(): number {
    return this.#options.leaseMs
  }

  /** Whether the runs may already belong to another worker. Computed on each call, since the main thread may have been busy. */
  get isInDoubt(): boolean {
    this.#look()
    return this.#isInDoubt
  }

  /** Milliseconds until the lease is in doubt if no further heartbeat succeeds; 0 if it is in doubt already. */
  get certainForMs(): number {
    return this.#isEnded ? 0 : Math.max(0, this.#longestSilenceMs - this.#silentMs)
  }

  /** Adds a run, which each heartbeat names from now on. */
  take({ runId, fence }: LeasedRun): void {
    this.#leased.set(runId, { runId, fence })
    this.#thread?.postMessage({ taken: { runId, fence } })
  }

  /** Removes a run whose end Belfry has received. */
  letGo({ runId, fence }: LeasedRun): void {
    if (this.#leased.get(runId)?.fence !== fence) return
    this.#leased.delete(runId)
    this.#thread?.postMessage({ ended: { runId, fence } })
  }

  async end(): Promise<void> {
    if (this.#isEnded) return
    this.#isEnded = true
    clearInterval(this.#check)
    await this.#thread?.terminate()
  }

  #startThread(): void {
    if (this.#isEnded) return
    const { servers, ca, token, everyMs, leaseMs, maxRuns } = this.#options
    const runs = [...this.#leased.values()]
    let why = 'it stopped unexpectedly'
    this.#beatAtStart = this.#heardAt
    try {
      this.#thread = new Thread(BEAT_THREAD, {
        eval: true,
        workerData: { servers, ca, token, everyMs, leaseMs, maxRuns, runs, lastBeat: this.#lastBeat },
      })
    } catch (error) {
      this.#restart(error instanceof Error ? error.message : String(error))
      return
    }
    this.#thread.unref()
    this.#thread.on('message', () => {
      if (this.#isEnded) return
      this.#options.onGone()
    })
    this.#thread.on('error', (error) => {
      why = error instanceof Error ? error.message : String(error)
    })
    this.#thread.once('exit', () => this.#restart(why))
  }

  #restart(why: string): void {
    if (this.#isEnded) return
    if (this.#heardAt !== this.#beatAtStart) this.#restarts = 0
    if (this.#restarts++ < MAX_RESTARTS) setTimeout(() => this.#startThread(), RESTART_MS).unref()
    else this.#options.onBroken(why)
  }

  get #heardAt(): bigint {
    return Atomics.load(new BigInt64Array(this.#lastBeat), 0)
  }

  get #silentMs(): number {
    return Number((process.hrtime.bigint() - this.#heardAt) / NS_PER_MS)
  }

  get #longestSilenceMs(): number {
    return this.#options.leaseMs * (1 - SAFETY)
  }

  #look(): void {
    if (this.#isEnded) return
    const isInDoubt = this.#silentMs > this.#longestSilenceMs
    if (isInDoubt === this.#isInDoubt) return
    this.#isInDoubt = isInDoubt
    if (isInDoubt) this.#options.onDoubt()
    else this.#options.onCertain()
  }
}
