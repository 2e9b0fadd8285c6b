import type { ClaimedRun } from '../core/run/claim.ts'
import type { RemoteClaim, RemoteWorker } from '../transport/remote-workers.ts'

/** A request that waits for the answer to a claim. */
interface Listener {
  resolve(runs: readonly ClaimedRun[]): void
  reject(error: unknown): void
}

export interface WaitingClaimOptions {
  readonly worker: RemoteWorker
  readonly claim: RemoteClaim
  /** The worker's latest claim when this one came. If it is another one later, the worker has gone on without this one. */
  readonly before: string | null
  /** The time of a request that waits for the answer is up. */
  onTimeUp(claim: WaitingClaim): void
  /** The last of the requests that waited for it has hung up. */
  onAbandoned(claim: WaitingClaim): void
}

/** How long after its arrival a claim is first looked for in the tables, and how much longer it takes each time after that. */
const FIRST_CHECK_MS = 100
const CHECK_GROWTH = 4

/**
 * A claim that waits at this node, and the requests that wait for its answer. There may be several: a worker that was cut off
 * sends the same claim again, perhaps before it is known here that nobody hears the first request any more.
 */
export class WaitingClaim {
  /** As it was when it last asked. */
  worker: RemoteWorker
  readonly claim: RemoteClaim
  readonly before: string | null
  /** Its answer is being made: nobody else may answer it meanwhile. */
  isBeingMade = false
  /** Something was looked for on its behalf. */
  wasServed = false
  /** Time is up: it ends with whatever is being made, or empty. */
  isOver = false
  readonly #options: WaitingClaimOptions
  readonly #listeners = new Set<Listener>()
  #checkAt = performance.now() + FIRST_CHECK_MS
  #checkGapMs = FIRST_CHECK_MS

  constructor(options: WaitingClaimOptions) {
    this.#options = options
    this.worker = options.worker
    this.claim = options.claim
    this.before = options.before
  }

  /** Nobody would hear the answer. */
  get isAbandoned(): boolean {
    return this.#listeners.size === 0
  }

  /** Resolves with the answer; with nothing once `signal` has fired. */
  answered(waitMs: number, signal: AbortSignal): Promise<readonly ClaimedRun[]> {
    const { onTimeUp, onAbandoned } = this.#options
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', hangUp)
        this.#listeners.delete(listener)
      }
      const listener: Listener = {
        resolve: (runs) => {
          end()
          resolve(runs)
        },
        reject: (error) => {
          end()
          reject(error)
        },
      }
      const hangUp = () => {
        listener.resolve([])
        if (this.isAbandoned) onAbandoned(this)
      }
      const timer = setTimeout(() => onTimeUp(this), waitMs)
      signal.addEventListener('abort', hangUp)
      this.#listeners.add(listener)
    })
  }

  settle(runs: readonly ClaimedRun[]): void {
    for (const listener of [...this.#listeners]) listener.resolve(runs)
  }

  fail(error: unknown): void {
    for (const listener of [...this.#listeners]) listener.reject(error)
  }

  /** Whether it is time to see if the same claim was made elsewhere; the next time comes later. */
  isToBeChecked(now: number): boolean {
    if (now < this.#checkAt) return false
    this.#checkGapMs *= CHECK_GROWTH
    this.#checkAt = now + this.#checkGapMs
    return true
  }
}
