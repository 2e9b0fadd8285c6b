import type { ClaimedRun } from '../core/run/claim.ts'
import { Throughput } from '../runtime/throughput.ts'
import type { Work } from '../transport/transport.ts'
import type { Attempt } from './attempt.ts'

export interface CapacityOptions {
  /** Runs performed at once. */
  readonly concurrency: number
  /** However fast it works, a worker takes on no more than this ahead. */
  readonly claimAhead: number
  /** So many outcomes wait to be written that nothing new may be taken on. */
  isFull(): boolean
}

/**
 * What a worker has in hand: runs that it performs, runs that wait for a place, and room that was promised. It says how
 * much more may be taken on, at the rate at which the worker gets through its work.
 */
export class Capacity {
  readonly #options: CapacityOptions
  readonly throughput = new Throughput()
  readonly attempts = new Map<string, Attempt>()
  /** Taken on, waiting for a place, in due order. */
  readonly queue: Work[] = []
  /** Claimed, but their definitions are not here yet. */
  readonly claimed: ClaimedRun[] = []
  /** Room for runs that are being claimed or fired. */
  reserved = 0
  /** Something waits that is not claimed ahead, and there was no place for it: the next one is kept for it. */
  isPlaceKept = false

  constructor(options: CapacityOptions) {
    this.#options = options
  }

  /** Places that a run could start in now. */
  get free(): number {
    return this.#isFull ? 0 : Math.max(0, this.#options.concurrency - this.#busy)
  }

  /** Runs that could be taken on beyond that. */
  get ahead(): number {
    if (this.#isFull) return 0
    return Math.max(0, this.allowedAhead - Math.max(0, this.#busy - this.#options.concurrency))
  }

  /** Places for what is claimed into none but a free one. */
  get places(): number {
    if (!this.isPlaceKept || this.#isFull) return this.free
    const isFree = this.attempts.size + this.reserved < this.#options.concurrency
    return Math.max(this.free, isFree ? 1 : 0)
  }

  get allowedAhead(): number {
    return Math.min(this.#options.claimAhead, Math.floor(this.throughput.perSecond()))
  }

  /** Whether what waits here is little enough that more should be on its way. */
  get isLow(): boolean {
    return this.queue.length <= this.#options.concurrency
  }

  get #busy(): number {
    return this.attempts.size + this.queue.length + this.reserved
  }

  get #isFull(): boolean {
    return this.#options.isFull()
  }

  /** Takes on runs for which there was room. */
  takeOn(runs: readonly Work[], where: 'first' | 'last'): void {
    this.reserved -= runs.length
    if (where === 'first') this.queue.unshift(...runs)
    else for (const work of runs) this.queue.push(work)
  }

  /** The next run that has a place to start in. */
  next(): Work | undefined {
    const places = this.#options.concurrency - (this.isPlaceKept ? 1 : 0)
    // `shift` moves the beginning of the array, `splice` would move the thousands behind it.
    return this.attempts.size < places ? this.queue.shift() : undefined
  }

  holds(runId: string): boolean {
    return this.attempts.has(runId) || [...this.claimed, ...this.queue].some((run) => run.runId === runId)
  }

  /** Everything in this worker's name that it knows of. */
  get runIds(): readonly string[] {
    return [...this.attempts.keys(), ...[...this.claimed, ...this.queue].map(({ runId }) => runId)]
  }
}
