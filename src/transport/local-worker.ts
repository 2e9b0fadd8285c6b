import type { Work } from './transport.ts'

/** Places that a worker has set aside. */
export interface Room {
  /** Runs that can start at once. */
  readonly free: number
  /** Further ones that it will get to within a second, at the rate it is working now. */
  readonly ahead: number
}

/**
 * A worker in the scheduler's own process. When it has room, a due run is fired straight into it, in the
 * same statement that fires it, and never waits in ready.
 */
export interface LocalWorker {
  readonly id: string
  /** Whether it runs what waits in a lane, and whether it may take that on ahead of a free place. */
  serves(lane: number): 'ahead' | 'free' | undefined
  /** How many runs it would take on now; none while earlier runs wait in ready. */
  readonly room: number
  /** Whether earlier runs wait in ready, as far as it knows; false where it will not know soon. */
  readonly isReadyBehind: boolean
  /** How many runs it has ever taken out of ready. */
  readonly claimed: number
  /** Sets aside room for up to `wanted` runs; none while earlier runs wait in ready. */
  reserve(wanted: number): Room
  /** Gives back what was set aside and not used. */
  release(count: number): void
  /** Takes on runs for which room was set aside. */
  begin(runs: readonly Work[]): void
  /** A statement that may have given this worker runs failed without an answer. */
  doubt(): void
}
