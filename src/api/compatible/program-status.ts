/**
 * Presents a task that runs a program, in the form of this interface. Nothing of it is stored: it is derived from the task, its
 * file and its attempts.
 */

import { utc } from '../../core/values/utc.ts'
import { numberOf } from '../../operations/tasks/numbered-task.ts'
import type { AttemptTime } from '../../store/history/attempts.ts'
import type { OpenRun, TaskRow } from '../../store/tasks/tasks.ts'
import type { ProgramTask } from './program-schemas.ts'

/** What is known about a task besides its own row. */
export interface ProgramFacts {
  /** Attempts of all its runs, oldest first. */
  readonly attempts: readonly AttemptTime[]
  readonly isFileReady: boolean
  /** Whether it is paused only because its file has not arrived. */
  readonly awaitsFile: boolean
}

export function presentProgram(
  task: TaskRow,
  { attempts, isFileReady, awaitsFile }: ProgramFacts,
): ProgramTask {
  const { definition, openRun } = task
  const failed = attempts.filter(isFailure)
  const started = attempts.map(({ startedAt, endedAt }) => startedAt ?? endedAt ?? 0)
  const success = attempts.findLast(({ outcome }) => outcome === 'completed')
  return {
    id: numberOf(task) ?? 0,
    schedule_at: scheduledAt(task),
    picked_at_by_producers: [...started, ...waitingSince(openRun)].map(utc),
    picked_at_by_workers: started.map(utc),
    successful_at: success?.endedAt == null ? null : utc(success.endedAt),
    failed_ats: failed.map(({ endedAt }) => utc(endedAt ?? 0)),
    failed_reasons: failed.map(({ reason, outcome }) => reason ?? DEFAULT_REASONS[outcome ?? ''] ?? ''),
    total_retry: definition.retry.limit,
    current_retry: Math.min(definition.retry.limit, failuresOfLatestRun(attempts)),
    tracing_id: definition.tracingId,
    file_uploaded: isFileReady,
    is_producible: isProducible(task, awaitsFile),
  }
}

const FAILURES: readonly (string | null)[] = ['failed', 'timed_out', 'worker_lost']
const isFailure = ({ outcome }: AttemptTime) => FAILURES.includes(outcome)

const DEFAULT_REASONS: Readonly<Record<string, string>> = {
  failed: 'The attempt failed.',
  timed_out: 'The attempt exceeded its timeout.',
  worker_lost: 'The worker stopped sending heartbeats.',
}

/** Returns the set time of the task; null if there is none, in which case the task has the instant of its creation. */
function scheduledAt({ definition: { schedule }, createdAt }: TaskRow): string | null {
  return schedule.type !== 'once' || schedule.at === utc(createdAt) ? null : utc(Date.parse(schedule.at))
}

/** Returns the due instant of a run that was taken from the schedule and waits for a worker. */
const waitingSince = (openRun: OpenRun | null): number[] =>
  openRun?.state === 'pending' ? [openRun.scheduledFor] : []

function failuresOfLatestRun(attempts: readonly AttemptTime[]): number {
  const latest = attempts.at(-1)?.runId
  return attempts.filter((attempt) => attempt.runId === latest && isFailure(attempt)).length
}

function isProducible({ state, nextAt, openRun }: TaskRow, awaitsFile: boolean): boolean {
  if (awaitsFile || openRun?.state === 'retrying') return true
  return state === 'scheduled' && nextAt !== null
}
