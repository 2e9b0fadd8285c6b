/** Presents runs and attempts in responses. */
import { retriesOf } from '../../../core/run/retries.ts'
import type { AttemptOutcome } from '../../../core/run/run.ts'
import { utc, utcOrNull } from '../../../core/values/utc.ts'
import type { AttemptRow } from '../../../store/history/attempts.ts'
import type { RunRow } from '../../../store/history/runs.ts'
import type { Attempt, Run } from './schemas.ts'

export function presentRun(row: RunRow): Run {
  return {
    id: row.id,
    taskId: row.taskId,
    taskName: row.taskName,
    retryOf: row.retryOf,
    kind: row.kind,
    state: row.state,
    reason: row.reason,
    scheduledFor: utc(row.scheduledFor),
    startedAt: utcOrNull(row.startedAt),
    endedAt: utcOrNull(row.endedAt),
    retryAt: utcOrNull(row.retryAt),
    // A backfilled run was not due at the time it ran, so it has no lateness.
    latenessMs: row.kind === 'backfill' ? null : row.lateMs,
    attempt: row.attempt,
    retries: retriesOf(row),
    losses: row.losses,
    version: row.version,
    fence: row.fence,
    workerId: row.workerId,
    cancelRequestedAt: utcOrNull(row.cancelRequestedAt),
    covers: row.coversUntil === null ? null : { until: utc(row.coversUntil), count: row.coversCount },
    output: row.output,
    error: row.error,
  }
}

export function presentAttempt(row: AttemptRow): Attempt {
  return {
    runId: row.runId,
    number: row.number,
    status: statusOf(row),
    outcome: row.outcome,
    scheduledFor: utc(row.scheduledFor),
    startedAt: utcOrNull(row.startedAt),
    endedAt: utc(row.endedAt),
    workerId: row.workerId,
    fence: row.fence,
    output: row.output,
    error: row.error,
  }
}

function statusOf({ outcome, isFinal }: { outcome: AttemptOutcome; isFinal: boolean }): Attempt['status'] {
  if (outcome === 'completed') return 'completed'
  return isFinal ? 'permanently_failed' : 'failed'
}
