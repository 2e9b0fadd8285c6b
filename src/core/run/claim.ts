/** Claims: the request of a worker for runs, and the leases that it gets. */
import type { RunKind } from './run.ts'

/** Number of slots of a worker that does not say how many it has. The SDK, which imports nothing, has the same default. */
export const DEFAULT_CONCURRENCY = 10

/** The lease on a run, as the database granted it. */
export interface ClaimedRun {
  readonly runId: string
  readonly taskId: string
  readonly version: number
  /** Absent or null means `occurrence`, the most frequent kind. */
  readonly kind?: RunKind | null
  readonly scheduledFor: number
  /** The run may not start before this instant. For a retry it is later than `scheduledFor`. */
  readonly wakeAt: number
  readonly fence: number
  readonly attempt: number
  readonly losses: number
  /** The lane of the run, and the side lane that it was claimed from, if any. */
  readonly lane?: number
  readonly side?: number | null
  /** A user cancelled the run while it was being taken back from another worker. */
  readonly isCancelled?: boolean
  /** The run uses a slot of a gate, for which other runs may be waiting. */
  readonly holdsPlace?: boolean
}

/** The result of a claim. */
export interface Claim {
  readonly runs: readonly ClaimedRun[]
  /**
   * The claim returned fewer runs than were there, because some rows could not be claimed or were locked by another claim.
   * Another claim may find more.
   */
  readonly isShort: boolean
}

/** A worker's request for runs. */
export interface ClaimRequest {
  readonly workerId: string
  readonly lanes: readonly number[]
  readonly limit: number
  /** The maximum number of runs to take from a lane, where its line has room for fewer than `limit`. */
  readonly most?: ReadonlyMap<number, number>
}

/** The position of a run among waiting runs: the lower priority first, then the earlier instant. */
export interface Standing {
  readonly priority: number
  readonly wakeAt: string
}

/** A worker's request for runs of lanes that have gates. */
export interface GatedClaimRequest extends ClaimRequest {
  /**
   * For each lane, the position of the next run in the same queue when the lanes were chosen. Runs after it are not claimed:
   * another worker may meanwhile have claimed the run for which the lane was chosen, and then the next run has precedence.
   */
  readonly upTo?: ReadonlyMap<number, Standing>
}
