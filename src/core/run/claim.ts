/** Claims: what a worker asks for, and the right to work on a run that it gets. */
import type { RunKind } from './run.ts'

/** The right to work on a run, as the database granted it. */
export interface ClaimedRun {
  readonly runId: string
  readonly taskId: string
  readonly version: number
  /** Left out or null: an occurrence, as most are. */
  readonly kind?: RunKind | null
  readonly scheduledFor: number
  /** It may not begin before: the instant of a retry lies behind the one it was scheduled for. */
  readonly wakeAt: number
  readonly fence: number
  readonly attempt: number
  readonly losses: number
  /** The lane it belongs to, and the side lane it waited in, where it was claimed from one. */
  readonly lane?: number
  readonly side?: number | null
  /** A user cancelled it while it was on its way back from another worker. */
  readonly isCancelled?: boolean
  /** It holds a place behind a gate, for which others may be waiting. */
  readonly holdsPlace?: boolean
}

/** The result of a claim. */
export interface Claim {
  readonly runs: readonly ClaimedRun[]
  /** Fewer than there seemed to be: some led nowhere, or somebody else was at them. Asking again may find more. */
  readonly isShort: boolean
}

/** A worker asks for runs. */
export interface ClaimRequest {
  readonly workerId: string
  readonly lanes: readonly number[]
  readonly limit: number
  /** The maximum number of runs to take from a lane, where its line has room for fewer than `limit`. */
  readonly most?: ReadonlyMap<number, number>
}

/** Where a run stands among those that wait: the lower priority first, then the earlier. */
export interface Standing {
  readonly priority: number
  readonly wakeAt: string
}

/** A worker asks for runs behind gates. */
export interface GatedClaimRequest extends ClaimRequest {
  /**
   * Where the next of their queue stood when the lanes were chosen. Nothing that comes after it is taken: by the
   * time of the claim somebody else may have taken what a lane was chosen for, and the next has its turn first.
   */
  readonly upTo?: ReadonlyMap<number, Standing>
}
