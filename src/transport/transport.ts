/**
 * What carries runs to workers. PostgreSQL remains the truth whatever the transport: a claim is only
 * valid once it stands there, with a fence, and a transport that forgets everything loses nothing.
 */
import type { TaskDefinition } from '../core/task.ts'

/** The right to work on a run, as the database granted it. */
export interface ClaimedRun {
  readonly runId: string
  readonly taskId: string
  readonly version: number
  readonly scheduledFor: number
  readonly fence: number
  readonly attempt: number
  readonly losses: number
  /** A user cancelled it while it was on its way back from another worker. */
  readonly isCancelled?: boolean
}

/** A claimed run together with what is to be done. */
export interface Work extends ClaimedRun {
  readonly definition: TaskDefinition
}

/** A worker asks for runs. */
export interface ClaimRequest {
  readonly workerId: string
  readonly lanes: readonly number[]
  readonly limit: number
}

/** Carries runs that wait to the workers that ask. */
export interface Transport {
  /** Takes up to `limit` waiting runs of the lanes, in order of priority and due time. An empty answer means none wait. */
  claim(request: ClaimRequest): Promise<ClaimedRun[]>
  /** The same for lanes with a gate: takes no more of each than it has free places, in strict order. */
  claimGated(request: ClaimRequest): Promise<ClaimedRun[]>
}
