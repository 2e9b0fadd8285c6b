/** Rows as the API shows them: instants as RFC 3339 in UTC, secrets masked, nothing that is only ours. */
import type { Action } from '../core/action/action.ts'
import { maskedAction } from '../core/action/masked-action.ts'
import type { AttemptOutcome } from '../core/run/run.ts'
import { localTime } from '../core/schedule/local-time.ts'
import { timezoneOf } from '../core/schedule/schedule.ts'
import type { ComparedVersion } from '../operations/tasks/task-versions.ts'
import type { AuditSummary as AuditRow } from '../store/audit/audit.ts'
import type { BackfillCounts, BackfillRow } from '../store/backfills/backfills.ts'
import type { AttemptRow } from '../store/history/attempts.ts'
import type { RunRow } from '../store/history/runs.ts'
import type { VersionRow } from '../store/tasks/task-versions.ts'
import type { TaskRow } from '../store/tasks/tasks.ts'
import type { Backfill } from './resources/backfills/schemas.ts'
import type { AuditSummary } from './resources/findings/schemas.ts'
import type { Attempt, Run } from './resources/runs/schemas.ts'
import type { Task } from './resources/tasks/schemas.ts'
import type { TaskVersion } from './resources/versions/schemas.ts'

export const utc = (ms: number): string => new Date(ms).toISOString()
const utcOrNull = (ms: number | null): string | null => (ms === null ? null : utc(ms))

export function presentTask(row: TaskRow): Task {
  const { definition, openRun } = row
  const { traceparent: _, anchorAt: __, projectId: ___, action: stored, ...settings } = definition
  const action = maskedAction(stored)
  const { type, ...payload } = action
  const timezone = timezoneOf(definition.schedule)
  return {
    id: row.id,
    key: row.key,
    name: row.name,
    owner: row.owner,
    state: row.state,
    version: row.version,
    type,
    payload,
    action,
    ...settings,
    labels: [...definition.labels],
    tags: [...row.tags],
    nextFireAt: utcOrNull(row.nextAt),
    nextFireLocal: row.nextAt === null ? null : localTime(row.nextAt, timezone ?? 'UTC'),
    timezone,
    openRun: openRun && {
      id: openRun.id,
      state: openRun.state,
      scheduledFor: utc(openRun.scheduledFor),
      attempt: openRun.attempt,
      retries: retriesOf(openRun),
    },
    createdAt: utc(row.createdAt),
    updatedAt: utc(row.updatedAt),
    pausedAt: utcOrNull(row.pausedAt),
    pauseReason: row.pauseReason,
    resumeAt: utcOrNull(row.resumeAt),
    skipNext: row.skipUntil === null ? null : { until: utc(row.skipUntil), reason: row.skipReason },
    cancelledAt: utcOrNull(row.cancelledAt),
  }
}

/** All that a user decided in a version, under the names that requests have for it. With `before`, changed secrets are marked. */
export function definedFields(
  { key, name, owner, tags, definition }: VersionRow,
  before?: Action,
): TaskVersion['definition'] {
  const { traceparent: _, anchorAt: __, seed: ___, projectId: ____, ...fields } = definition
  const action = maskedAction(definition.action, before)
  return { key, name, owner, tags, ...fields, action, labels: [...fields.labels] }
}

export const presentVersionSummary = ({ row, changes }: ComparedVersion) => ({
  version: row.version,
  isCurrent: row.isCurrent,
  madeAt: utc(row.madeAt),
  madeBy: row.madeBy,
  reason: row.reason,
  rollbackOf: row.rollbackOf,
  changes: [...changes],
})

export const presentVersion = (version: ComparedVersion): TaskVersion => ({
  ...presentVersionSummary(version),
  definition: definedFields(version.row),
})

/** Attempts beyond the first, not counting those that only replaced a dead worker's. */
function retriesOf({ attempt, losses }: { attempt: number; losses: number }): number {
  return Math.max(0, attempt - losses - 1)
}

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
    // What is made up for was never due when it ran.
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

export function presentBackfill(row: BackfillRow & BackfillCounts): Backfill {
  const left = row.occurrences - row.started - row.passedOver
  return {
    id: row.id,
    taskId: row.taskId,
    state: row.state,
    version: row.version,
    from: utc(row.from),
    to: utc(row.to),
    order: row.newestFirst ? 'newest_first' : 'oldest_first',
    rate: row.rate,
    overlap: row.oneByOne ? 'queue_all' : 'allow',
    maxRuns: row.maxRuns,
    force: row.force,
    reason: row.reason,
    madeBy: row.madeBy,
    createdAt: utc(row.createdAt),
    endedAt: utcOrNull(row.endedAt),
    position: utcOrNull(row.position),
    occurrences: row.occurrences,
    remaining: row.isWritten || row.state !== 'running' ? 0 : left,
    passedOver: row.passedOver,
    started: row.started,
    waiting: row.waiting,
    running: row.running,
    completed: row.completed,
    failed: row.failed,
    cancelled: row.cancelled,
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

export const presentAudit = (audit: AuditRow | undefined): AuditSummary => ({
  roundEndedAt: utcOrNull(audit?.roundEndedAt ?? null),
  roundMs: audit?.roundMs ?? null,
  tasks: audit?.roundTasks ?? null,
  oneOffsEndedAt: utcOrNull(audit?.oneOffsEndedAt ?? null),
  historyEndedAt: utcOrNull(audit?.historyEndedAt ?? null),
  repaired: audit?.repaired ?? 0,
  unrepaired: audit?.unrepaired ?? 0,
  minutesLost: audit?.minutesLost ?? 0,
  missed: audit?.missed ?? 0,
})
