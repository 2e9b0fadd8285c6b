/** Environment variables that identify the run to its program. Users cannot set them. */
import { utc } from '../core/values/utc.ts'

/** Identity of an attempt. */
export interface ProgramIdentity {
  readonly runId: string
  readonly taskId: string
  readonly attempt: number
  readonly fence: number
  /** Epoch milliseconds. */
  readonly scheduledFor: number
  readonly tracingId: string | null
  readonly traceparent: string
}

export const programEnvironment = (identity: ProgramIdentity): Record<string, string> => ({
  BELFRY_RUN_ID: identity.runId,
  BELFRY_TASK_ID: identity.taskId,
  BELFRY_ATTEMPT: String(identity.attempt),
  BELFRY_FENCE: String(identity.fence),
  BELFRY_SCHEDULED_FOR: utc(identity.scheduledFor),
  ...(identity.tracingId === null ? {} : { BELFRY_TRACING_ID: identity.tracingId }),
  TRACEPARENT: identity.traceparent,
})
