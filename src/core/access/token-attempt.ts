/** The attempt that a token was issued for. */
export interface TokenAttempt {
  readonly projectId: string
  readonly taskId: string
  readonly runId: string
  readonly attempt: number
  readonly fence: number
  /** The remote worker that leases the run. */
  readonly workerId: string
  /** Random id of this attempt, which identifies the process that runs the program. */
  readonly hostId: string
  /** The name of that worker, as lists show it. */
  readonly podName: string
  readonly tracingId: string | null
}
