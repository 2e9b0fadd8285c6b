/** Tasks as answers show them: instants as RFC 3339 in UTC, secrets masked, internal members left out. */
import { maskedAction } from '../../../core/action/masked-action.ts'
import { retriesOf } from '../../../core/run/retries.ts'
import { localTime } from '../../../core/schedule/local-time.ts'
import { timezoneOf } from '../../../core/schedule/schedule.ts'
import { utc, utcOrNull } from '../../../core/values/utc.ts'
import type { EnrichedTask } from '../../../operations/tasks/enrich-tasks.ts'
import type { RecentRun } from '../../../store/history/runs.ts'
import type { TaskRow } from '../../../store/tasks/tasks.ts'
import type { Task } from './schemas.ts'

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

export function presentEnriched({ row, recent, next, scheduleInWords }: EnrichedTask): Task {
  const zone = timezoneOf(row.definition.schedule) ?? 'UTC'
  return {
    ...presentTask(row),
    ...(recent === undefined ? {} : { recent: recent.map(presentRecent) }),
    ...(next === undefined ? {} : { next: next.map((at) => ({ at: utc(at), local: localTime(at, zone) })) }),
    ...(scheduleInWords === undefined ? {} : { scheduleInWords }),
  }
}

function presentRecent({
  lateMs,
  startedAt,
  endedAt,
  ...run
}: RecentRun): NonNullable<Task['recent']>[number] {
  return {
    ...run,
    scheduledFor: utc(run.scheduledFor),
    startedAt: utcOrNull(startedAt),
    endedAt: utc(endedAt),
    latenessMs: lateMs,
    durationMs: startedAt === null ? null : Math.max(0, endedAt - startedAt),
  }
}
