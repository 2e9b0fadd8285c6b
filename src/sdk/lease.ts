/**
 * For how long this worker may think that its runs are its own. The beats come from a thread of their own
 * (beat-thread.ts), so that a handler that keeps the main thread busy costs no lease; here it is decided what
 * follows from them. A worker that was not heard for most of its lease stops before others may begin.
 */
import { Worker as Thread } from 'node:worker_threads'
import { BEAT_THREAD } from './beat-thread.ts'

/** A run in hand. */
interface Held {
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
  /** Runs that one heartbeat may name. */
  readonly maxRuns: number
  /** Belfry may soon give the runs to others. */
  onDoubt(): void
  /** It has not, and will not. */
  onCertain(): void
  /** It has. */
  onGone(): void
  /** The thread cannot be kept going: without beats this worker is of no use. */
  onBroken(why: string): void
}

/** A part of the lease is kept for stopping what runs. */
const SAFETY = 0.25
const LONGEST_CHECK_MS = 250
const NS_PER_MS = 1_000_000n
/** A thread that ends by itself is started again so often, unless a beat of it was heard in between. */
const MAX_RESTARTS = 3
const RESTART_MS = 200

export class Lease {
  readonly #options: LeaseOptions
  readonly #lastBeat = new SharedArrayBuffer(8)
  readonly #inHand = new Map<string, Held>()
  readonly #check: NodeJS.Timeout
  #thread: Thread | undefined
  /** The last beat that was heard when the thread was started. */
  #beatAtStart = 0n
  #restarts = 0
  #isInDoubt = false
  #isEnded = false

  constructor(options: LeaseOptions) {
    this.#options = options
    // The registration itself has just shown that we live.
    Atomics.store(new BigInt64Array(this.#lastBeat), 0, process.hrtime.bigint())
    this.#check = setInterval(() => this.#look(), Math.min(LONGEST_CHECK_MS, options.leaseMs / 20))
    this.#check.unref()
    this.#startThread()
  }

  get leaseMs(): number {
    return this.#options.leaseMs
  }

  /** Whether the runs may already be somebody else's. It is asked anew each time: the main thread may have been busy. */
  get isInDoubt(): boolean {
    this.#look()
    return this.#isInDoubt
  }

  /** How long it takes until they may be, if no further beat is heard; 0 when they may be already. */
  get certainForMs(): number {
    return this.#isEnded ? 0 : Math.max(0, this.#longestSilenceMs - this.#silentMs)
  }

  /** A run is in hand from now on, and each beat names it. */
  take({ runId, fence }: Held): void {
    this.#inHand.set(runId, { runId, fence })
    this.#thread?.postMessage({ taken: { runId, fence } })
  }

  /** Belfry has heard what became of a run. */
  letGo({ runId, fence }: Held): void {
    if (this.#inHand.get(runId)?.fence !== fence) return
    this.#inHand.delete(runId)
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
    const { servers, ca, token, everyMs, maxRuns } = this.#options
    const runs = [...this.#inHand.values()]
    let why = 'it stopped unexpectedly'
    this.#beatAtStart = this.#heardAt
    try {
      this.#thread = new Thread(BEAT_THREAD, {
        eval: true,
        workerData: { servers, ca, token, everyMs, maxRuns, runs, lastBeat: this.#lastBeat },
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
