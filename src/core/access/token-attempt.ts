/** The attempt that a token was issued for. */
export interface TokenAttempt {
  readonly projectId: string
  readonly taskId: string
  readonly runId: string
  readonly attempt: number
  readonly fence: number
  /** The worker that performs it: its id is another one after each start. */
  readonly hostId: string
  /** The name of that worker, as lists show it. */
  readonly podName: string
  readonly tracingId: string | null
}
