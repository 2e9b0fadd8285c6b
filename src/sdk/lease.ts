/**
 * For how long this worker may think that its runs are its own. The beats come from a thread of their own
 * (worker-beat-thread.js), so that a handler that keeps the main thread busy costs no lease; here it is decided what
 * follows from them. A worker that was not heard for most of its lease stops before others may begin.
 */
import { Worker as Thread } from 'node:worker_threads'

export interface LeaseOptions {
  readonly servers: readonly string[]
  readonly token: string
  readonly everyMs: number
  readonly leaseMs: number
  /** Belfry may soon give the runs to others. */
  onDoubt(): void
  /** It has not, and will not. */
  onCertain(): void
  /** It has. */
  onGone(): void
  /** The thread has ended by itself. Without beats the lease runs out, and the worker stops its runs. */
  onBroken(why: string): void
}

/** A part of the lease is kept for stopping what runs. */
const SAFETY = 0.25
const LONGEST_CHECK_MS = 250
const NS_PER_MS = 1_000_000n

export class Lease {
  readonly #options: LeaseOptions
  readonly #lastBeat = new SharedArrayBuffer(8)
  readonly #thread: Thread
  readonly #check: NodeJS.Timeout
  #isInDoubt = false
  #isEnded = false

  constructor(options: LeaseOptions) {
    this.#options = options
    const { servers, token, everyMs, leaseMs } = options
    // The registration itself has just shown that we live.
    Atomics.store(new BigInt64Array(this.#lastBeat), 0, process.hrtime.bigint())
    this.#thread = new Thread(new URL('./worker-beat-thread.js', import.meta.url), {
      workerData: { servers, token, everyMs, lastBeat: this.#lastBeat },
    })
    this.#thread.unref()
    this.#thread.on('message', () => {
      if (!this.#isEnded) this.#options.onGone()
    })
    this.#thread.on('error', (error) => this.#options.onBroken(error.message))
    this.#check = setInterval(() => this.#look(), Math.min(LONGEST_CHECK_MS, leaseMs / 20))
    this.#check.unref()
  }

  get leaseMs(): number {
    return this.#options.leaseMs
  }

  /** Whether the runs may already be somebody else's. It is asked anew each time: the main thread may have been busy. */
  get isInDoubt(): boolean {
    this.#look()
    return this.#isInDoubt
  }

  async end(): Promise<void> {
    if (this.#isEnded) return
    this.#isEnded = true
    clearInterval(this.#check)
    await this.#thread.terminate()
  }

  #look(): void {
    if (this.#isEnded) return
    const last = Atomics.load(new BigInt64Array(this.#lastBeat), 0)
    const silentMs = Number((process.hrtime.bigint() - last) / NS_PER_MS)
    const isInDoubt = silentMs > this.#options.leaseMs * (1 - SAFETY)
    if (isInDoubt === this.#isInDoubt) return
    this.#isInDoubt = isInDoubt
    if (isInDoubt) this.#options.onDoubt()
    else this.#options.onCertain()
  }
}
