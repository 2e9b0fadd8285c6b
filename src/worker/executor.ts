import type { Action } from '../core/action/action.ts'
import type { Outcome } from '../core/run/outcome.ts'
import type { AttemptLog } from '../logs/run-log.ts'
import type { StopSignal } from '../runtime/stop-signal.ts'

/** What an executor may know of the attempt it performs. */
export interface AttemptContext {
  readonly runId: string
  readonly taskId: string
  /** The nominal instant, epoch milliseconds. */
  readonly scheduledFor: number
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly fence: number
  /** Whose run it is. */
  readonly projectId: string
  /** Names of the secrets that its action refers to; null where it refers to none. */
  readonly secrets: readonly string[] | null
  /** The id that the user gave to the task, to follow it by. */
  readonly tracingId: string | null
  /** W3C trace context that continues the trace the task was created in, or starts one. */
  readonly traceparent: string
  /** Where the attempt writes what it has to say while it is under way. */
  readonly log: AttemptLog
  /** The database's time, epoch milliseconds: receivers compare it with theirs, and this node's own clock may be wrong. */
  now(): number
  /** Fires when the attempt must end: its time limit, a cancellation, a lost lease, or shutdown. */
  readonly signal: StopSignal
  /** The signal fired because the run may be somebody else's by now. */
  readonly isLost: boolean
}

/**
 * Performs one action type. It never throws for what the far end does: every such ending is an outcome.
 * It ends promptly once `signal` fires; the caller decides what the abort meant, so of what an executor
 * returns after that only `output` is kept.
 */
export interface Executor<A extends Action = Action> {
  execute(action: A, context: AttemptContext): Promise<Outcome>
  /** Releases sockets and the like; called once, when the worker stops. */
  close?(): Promise<void>
}
