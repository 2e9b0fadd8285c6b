import type { Action } from '../core/action/action.ts'
import type { Outcome } from '../core/run/outcome.ts'
import type { AttemptLog } from '../logs/run-log.ts'
import type { StopSignal } from '../runtime/stop-signal.ts'

/** What an executor can see of the attempt it performs. */
export interface AttemptContext {
  readonly runId: string
  readonly taskId: string
  /** The nominal instant, epoch milliseconds. */
  readonly scheduledFor: number
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly fence: number
  /** The project that owns the run. */
  readonly projectId: string
  /** Names of the secrets that its action refers to; null if it refers to none. */
  readonly secrets: readonly string[] | null
  /** The user's own identifier for tracing. */
  readonly tracingId: string | null
  /** W3C trace context that continues the trace the task was created in, or starts one. */
  readonly traceparent: string
  /** The log that the attempt writes to while it runs. */
  readonly log: AttemptLog
  /** The database's time, epoch milliseconds: receivers compare it with theirs, and this node's own clock may be wrong. */
  now(): number
  /** Fires when the attempt must end: its time limit, a cancellation, a lost lease, or shutdown. */
  readonly signal: StopSignal
  /** Whether the signal fired because another worker may have the run by now. */
  readonly isLost: boolean
}

/**
 * Performs one action type. It never throws because of what the remote end does: every such result is an outcome. It ends
 * promptly once `signal` fires; the caller decides what the abort means, so only `output` is used of what an executor returns
 * after that.
 */
export interface Executor<A extends Action = Action> {
  execute(action: A, context: AttemptContext): Promise<Outcome>
  /** Releases sockets and the like; called once, when the worker stops. */
  close?(): Promise<void>
}
