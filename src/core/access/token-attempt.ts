/** The attempt that a token was issued for. */
export interface TokenAttempt {
  readonly projectId: string
  readonly taskId: string
  readonly runId: string
  readonly attempt: number
  readonly fence: number
  /** The remote worker that holds the run. */
  readonly workerId: string
  /** Drawn at random for this attempt: what runs the program is known by it. */
  readonly hostId: string
  /** The name of that worker, as lists show it. */
  readonly podName: string
  readonly tracingId: string | null
}
