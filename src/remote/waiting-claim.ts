import type { ClaimedRun } from '../core/run/claim.ts'
import type { RemoteClaim, RemoteWorker } from '../transport/remote-workers.ts'

/** A request that waits for the response to a claim. */
interface Listener {
  resolve(runs: readonly ClaimedRun[]): void
  reject(error: unknown): void
}

export interface WaitingClaimOptions {
  readonly worker: RemoteWorker
  readonly claim: RemoteClaim
  /** The worker's latest claim when this one arrived. If it changes, the worker has moved on without this claim. */
  readonly before: string | null
  /** Called when the time of a waiting request is up. */
  onTimeUp(claim: WaitingClaim): void
  /** Called when the last waiting request has disconnected. */
  onAbandoned(claim: WaitingClaim): void
}

/** How long after its arrival a claim is first looked up in the tables, and the factor by which the interval grows each time. */
const FIRST_CHECK_MS = 100
const CHECK_GROWTH = 4

/**
 * A claim that waits at this node, and the requests that wait for its response. There may be several: a worker that was
 * disconnected sends the same claim again, perhaps before this node has noticed that the first request is gone.
 */
export class WaitingClaim {
  /** The worker as of its latest request. */
  worker: RemoteWorker
  readonly claim: RemoteClaim
  readonly before: string | null
  /** Whether the claim is being made; no other code may answer it meanwhile. */
  isBeingMade = false
  /** The last pass that looked for runs for it; 0 if none has. */
  servedIn = 0
  /** Whether its time is up, so that it ends with what is being made, or empty. */
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

  /** Whether no request waits for the response any more. */
  get isAbandoned(): boolean {
    return this.#listeners.size === 0
  }

  /** Resolves with the response; with no runs once `signal` has fired. */
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

  /** Whether to check now if the same claim was made elsewhere; schedules the next check later. */
  isToBeChecked(now: number): boolean {
    if (now < this.#checkAt) return false
    this.#checkGapMs *= CHECK_GROWTH
    this.#checkAt = now + this.#checkGapMs
    return true
  }
}
