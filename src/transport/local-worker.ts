import type { ClaimedRun } from './transport.ts'

/**
 * A worker in the scheduler's own process. When it has room, a due run is fired straight into it, in the
 * same statement that fires it, and never waits in ready.
 */
export interface LocalWorker {
  readonly id: string
  /** Sets aside up to `wanted` places and answers how many; none while earlier runs wait in ready. */
  reserve(wanted: number): number
  /** Gives places back that were set aside and not used. */
  release(count: number): void
  /** Starts runs for which places were set aside. */
  begin(runs: readonly ClaimedRun[]): void
  /** A statement that may have given this worker runs failed without an answer. */
  doubt(): void
}
