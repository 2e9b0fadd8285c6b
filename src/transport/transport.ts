/**
 * What carries runs to workers. PostgreSQL remains the truth whatever the transport: a claim is only
 * valid once it stands there, with a fence, and a transport that forgets everything loses nothing.
 */
import type { Claim, ClaimedRun, ClaimRequest, GatedClaimRequest } from '../core/run/claim.ts'
import type { KeptDefinition } from '../core/task/task.ts'

/** A claimed run together with what is to be done. */
export interface Work extends ClaimedRun {
  readonly definition: KeptDefinition
}

/** A run that was put in line. */
export interface PutRun {
  readonly runId: string
  /** It had been taken out, because no claim could take it. */
  readonly wasRefused: boolean
}

/** The half that puts runs in line. Statements that make a run pending do so themselves (src/store/ready). */
export interface Putting {
  /** Puts pending runs in line that were forgotten, and answers which these were. Others are left alone. */
  put(runIds: readonly string[]): Promise<readonly PutRun[]>
}

/** The half that workers take runs from. What is in line can be claimed once, while it is pending. */
export interface Taking {
  /**
   * Takes up to `limit` waiting runs of the lanes, in order of priority. Under equal priority projects take turns, and within a project
   * its lanes, the one named first before the others; runs of one lane go in the order of due time.
   */
  claim(request: ClaimRequest): Promise<Claim>
  /**
   * The same for lanes behind gates, the best lane first: takes no more of a lane, nor of all lanes of a queue,
   * than there are free places, and those of a key in strict order.
   */
  claimGated(request: GatedClaimRequest): Promise<Claim>
}

/** Carries pending runs to the workers that ask. Each implementation passes test/conformance. */
export interface Transport extends Putting, Taking {}
