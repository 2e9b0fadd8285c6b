/**
 * What to do with a row that has come due. Pure: it sees the row, its definition and the time, and
 * answers what the one statement that fires it shall do.
 */
import type { SkipReason } from '../core/run.ts'
import { countOccurrences, delayMs, nextOccurrence } from '../core/schedule/occurrences.ts'
import type { Plan } from '../core/schedule/schedule.ts'
import { durationMs, MISFIRE_GRACE_MS, planOf, type TaskDefinition } from '../core/task.ts'
import type { DueRow, Firing } from '../store/agenda.ts'
import { lastOccurrence } from './last-occurrence.ts'

/** Everything about a firing but whether there is room for it, which the scheduler knows. */
export type Decision = Omit<Firing, 'startNow'>

export interface DueCase {
  readonly row: DueRow
  readonly definition: TaskDefinition
  readonly now: number
  /** Nobody was watching the row's shard when it came due. */
  readonly wasUnwatched: boolean
  readonly newId: () => string
}

/** More missed occurrences than this are not counted one by one. */
export const MAX_COUNTED = 10_000

export function decide(due: DueCase): Decision {
  const { row, definition } = due
  const plain: Decision = {
    runId: row.runId,
    version: row.version,
    exclusive: false,
    skip: null,
    runFor: null,
    next: null,
    isLast: false,
  }
  if (row.state === 'retrying') return plain
  const exclusive = definition.overlap === 'skip'
  if (row.kind !== 'occurrence') return { ...plain, exclusive }

  const missed = due.wasUnwatched && due.now - row.scheduledFor > MISFIRE_GRACE_MS ? afterOutage(due) : {}
  if (definition.schedule.type === 'once') return { ...plain, ...missed }
  const isLast = definition.maxRuns !== null && row.ordinal >= definition.maxRuns
  const passed = Math.max(row.scheduledFor, missed.runFor ?? 0, missed.skip?.until ?? 0)
  return { ...plain, ...missed, exclusive, isLast, next: nextRow(due, passed) }
}

function nextRow({ definition, now, newId }: DueCase, after: number): Decision['next'] {
  const { schedule } = definition
  const at = schedule.type === 'delay' ? now + delayMs(schedule) : nextOccurrence(planOf(definition), after)
  return at === null ? null : { runId: newId(), at: Math.ceil(at) }
}

/** Carries out the misfire policy for the row's own occurrence and all that were missed after it. */
function afterOutage({ row, definition, now, newId }: DueCase): { skip?: Decision['skip']; runFor?: number } {
  const plan = planOf(definition)
  const latest = lastOccurrence(plan, { from: row.scheduledFor, to: now })
  const isTooOld = latest < now - durationMs(definition.misfire.window)
  const skip = (until: number, reason: SkipReason) => ({
    runId: newId(),
    reason,
    until,
    count: countMissed(plan, row.scheduledFor, until),
  })
  if (definition.misfire.policy === 'skip' || isTooOld) return { skip: skip(latest, 'misfire') }
  if (latest === row.scheduledFor) return {}
  const before = lastOccurrence(plan, { from: row.scheduledFor, to: latest - 1 })
  return { runFor: latest, skip: skip(before, 'misfire') }
}

/** How many occurrences lie between two of them, both included; null when they are too many to count. */
function countMissed(plan: Plan, first: number, last: number): number | null {
  const { count, atLeast } = countOccurrences(plan, first, last, MAX_COUNTED)
  return atLeast ? null : count + 1
}
