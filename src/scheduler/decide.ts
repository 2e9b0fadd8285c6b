/**
 * What to do with a row that has come due. Pure: it sees the row, its definition and the time, and
 * answers what the one statement that fires it shall do.
 */
import { countOccurrences, delayMs, nextOccurrence } from '../core/schedule/occurrences.ts'
import type { Plan } from '../core/schedule/schedule.ts'
import { durationMs, MISFIRE_GRACE_MS, planOf, queuedAtMost, type TaskDefinition } from '../core/task.ts'
import { type Decision, type DueRow, JUST_RUN, type Skip, type Turn } from '../store/agenda.ts'
import { lastOccurrence } from './last-occurrence.ts'

/** A due row, and all that a decision about it depends on. */
export interface DueCase {
  readonly row: DueRow
  readonly definition: TaskDefinition
  readonly now: number
  /** Nobody was watching the row's shard when it came due. */
  readonly wasUnwatched: boolean
  readonly newId: () => string
}

/** More missed occurrences than this are not counted one by one. */
export const MAX_COUNTED = 1_000

export function decide(due: DueCase): Decision {
  const { row, definition, now } = due
  // Whoever writes the runs of a backfill sees to it that they come in turn.
  if (row.state === 'retrying' || row.kind === 'backfill') return JUST_RUN
  const exclusive = definition.overlap !== 'allow'
  const turn = turnOf(due)
  const justRun = exclusive || turn ? { ...JUST_RUN, exclusive, turn } : JUST_RUN
  // What has waited was followed by its next row when it began to.
  if (row.kind !== 'occurrence' || row.state !== 'scheduled') return justRun

  const isMisfire = due.wasUnwatched && now - row.scheduledFor > MISFIRE_GRACE_MS
  const missed = isMisfire ? afterOutage(due) : NOTHING_MISSED
  if (definition.schedule.type === 'once') {
    const decision = turn ? justRun : JUST_RUN
    return isMisfire ? { ...decision, ...missed } : decision
  }
  const isLast =
    definition.schedule.type === 'delay' || (definition.maxRuns !== null && row.ordinal >= definition.maxRuns)
  const passed = Math.max(row.scheduledFor, missed.runFor ?? 0, missed.skip?.until ?? 0)
  return { ...missed, exclusive, turn, isLast, next: nextRow(due, passed) }
}

/** How the row takes its turn; null when it runs at once or is skipped, for which there is a cheaper statement. */
function turnOf({ row, definition }: DueCase): Turn | null {
  const { overlap } = definition
  const mayWait = overlap !== 'skip' && overlap !== 'allow'
  if (!mayWait && row.state === 'scheduled') return null
  return {
    places: queuedAtMost(overlap) ?? 1,
    beyond: overlap === 'queue_all' ? 'overlap_limit' : 'overlap',
    supersedes: overlap === 'cancel_previous',
    deferUntil: null,
  }
}

function nextRow({ definition, now, newId }: DueCase, after: number): Decision['next'] {
  const { schedule } = definition
  const plan = planOf(definition)
  const at = schedule.type === 'delay' ? now + delayMs(schedule) : nextOccurrence(plan, after)
  return at === null || (plan.endAt !== null && at > plan.endAt)
    ? null
    : { runId: newId(), at: Math.ceil(at) }
}

type Missed = Pick<Decision, 'skip' | 'runFor'>
const NOTHING_MISSED: Missed = { skip: null, runFor: null }

/** Carries out the misfire policy for the row's own occurrence and all that were missed after it. */
function afterOutage({ row, definition, now, newId }: DueCase): Missed {
  const plan = planOf(definition)
  const latest = lastOccurrence(plan, { from: row.scheduledFor, to: now })
  const isTooOld = latest < now - durationMs(definition.misfire.window)
  const skip = (until: number): Skip => ({
    runId: newId(),
    reason: 'misfire',
    until,
    count: countMissed(plan, row.scheduledFor, until),
  })
  if (definition.misfire.policy === 'skip' || isTooOld) return { skip: skip(latest), runFor: null }
  if (latest === row.scheduledFor) return NOTHING_MISSED
  return { skip: skip(lastOccurrence(plan, { from: row.scheduledFor, to: latest - 1 })), runFor: latest }
}

/** How many occurrences lie between two of them, both included; null when they are too many to count. */
function countMissed(plan: Plan, first: number, last: number): number | null {
  const { count, atLeast } = countOccurrences(plan, first, last, MAX_COUNTED)
  return atLeast ? null : count + 1
}
