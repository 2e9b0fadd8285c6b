/**
 * Carries runs to workers. PostgreSQL remains authoritative whatever the transport: a claim is valid only once it is stored
 * there, with a fence, and a transport that loses everything loses no run.
 */
import type { Claim, ClaimedRun, ClaimRequest, GatedClaimRequest } from '../core/run/claim.ts'
import type { KeptDefinition } from '../core/task/task.ts'

/** A claimed run with its definition. */
export interface Work extends ClaimedRun {
  readonly definition: KeptDefinition
}

/** A run that was put in line. */
export interface PutRun {
  readonly runId: string
  /** Whether it had been removed because no claim could take it. */
  readonly wasRefused: boolean
}

/** The half that puts runs in line. Statements that make a run pending do so themselves (src/store/ready). */
export interface Putting {
  /** Puts in line those of the pending runs that are missing there, and returns them. Others are not changed. */
  put(runIds: readonly string[]): Promise<readonly PutRun[]>
  /**
   * Moves up to `limit` pending runs from the given side lanes to their own lanes, and returns them: the side lanes no longer
   * exist, so no worker would find the runs. Runs in other lanes are left unchanged.
   */
  leaveSideLanes(lanes: readonly number[], limit: number): Promise<readonly { readonly runId: string }[]>
}

/** The half that workers claim runs from. A run in line can be claimed once, while it is pending. */
export interface Taking {
  /**
   * Claims up to `limit` waiting runs of the lanes, in order of priority. Under equal priority, projects take turns, and within
   * a project its lanes in the order given; runs of one lane go in the order of due time.
   */
  claim(request: ClaimRequest): Promise<Claim>
  /**
   * The same for lanes behind gates, best lane first. Claims no more of a lane, or of all lanes of a queue, than there are free
   * slots, and claims runs of a concurrency key in strict order.
   */
  claimGated(request: GatedClaimRequest): Promise<Claim>
}

/** Carries pending runs to the workers that ask. Each implementation passes test/conformance. */
export interface Transport extends Putting, Taking {}
