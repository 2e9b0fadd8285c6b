/** What is recorded about a task around an instant in the past. Instants are epoch milliseconds. */
import type { Owing } from '../ledger/expected.ts'
import type { Blackout } from './now-case.ts'
import type { Recorded } from './recorded.ts'

/** A run of the task that was due at or before the instant, live or ended. */
export interface PastRun {
  readonly runId: string
  readonly kind: string
  readonly state: string
  readonly reason: string | null
  readonly scheduledFor: number
  readonly coversUntil: number | null
  /** Start of the last attempt. */
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** Time from the due instant to the start of the first attempt. */
  readonly lateMs: number | null
  readonly attempt: number
  /** The version of the task that the run belongs to. */
  readonly version: number
}

/** An attempt that another attempt of the same run followed. */
export interface PastAttempt {
  readonly runId: string
  readonly number: number
  readonly outcome: string
  readonly startedAt: number | null
  readonly endedAt: number
}

/** A pause of the task. */
export interface Pause {
  readonly pausedAt: number
  readonly resumedAt: number | null
  readonly reason: string | null
}

/** All that the answer depends on. */
export interface ThenCase extends Owing {
  readonly taskId: string
  readonly at: number
  readonly now: number
  /** History before this instant was deleted. */
  readonly historyFrom: number
  /** Runs that were due at or before the instant, the latest first. */
  readonly runs: readonly PastRun[]
  readonly attempts: readonly PastAttempt[]
  readonly pause: Pause | null
  /** The blackout of the project that was in force. */
  readonly blackout: Blackout | null
  /** What is recorded about the lane in which its runs waited. */
  readonly recorded: Recorded
}

/** Whether a run was active at the instant. A row with a reason for not running never was. */
export const wasOpen = (run: PastRun, at: number): boolean =>
  run.reason === null && (run.endedAt === null || run.endedAt > at)

/** The reason of a run that exceeded its queue timeout. */
export const GIVEN_UP = 'queue_timeout'

/** The run that may have waited at the instant or was the last to wait: an active run, or one that exceeded its queue timeout. */
export function waiterAt(runs: readonly PastRun[], at: number): PastRun | undefined {
  const [latest] = runs.filter(({ kind }) => kind !== 'manual')
  return runs.find((run) => wasOpen(run, at)) ?? (latest?.reason === GIVEN_UP ? latest : undefined)
}
