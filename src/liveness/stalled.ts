/**
 * How a task goes on whose next row is gone. Pure: it sees where the task had come to and the time, and answers what is
 * to be written. What came due meanwhile is treated as after an outage, as the task's misfire policy says.
 */
import { countOccurrences, delayMs, nextOccurrence } from '../core/schedule/occurrences.ts'
import { durationMs, planOf, type TaskDefinition } from '../core/task.ts'

/** Where a task had come to. Instants are epoch milliseconds. */
export interface Stalled {
  readonly definition: TaskDefinition
  readonly now: number
  readonly createdAt: number
  /** The version before had the instants up to here. */
  readonly takenOverAt: number | null
  /** The latest occurrence that is on its way or in history, and when the latest one ended. */
  readonly latest: number | null
  readonly lastEndedAt: number | null
  /** What the next occurrence counts as. */
  readonly ordinal: number
  readonly historyFrom: number
}

/** What is to be done about it. */
export type Remedy =
  /** Nothing is owed any more. */
  | { readonly kind: 'settle' }
  /** Whether anything is owed cannot be told: what would tell it was dropped with old history. */
  | { readonly kind: 'unknown' }
  /** Go on with a row at this instant; what lies before it is recorded as lost. */
  | { readonly kind: 'go_on'; readonly at: number | null; readonly lost: Lost | null }

/** Occurrences that came due while the row was gone and do not run. */
export interface Lost {
  readonly first: number
  readonly last: number
  /** Null when they were too many to count. */
  readonly count: number | null
}

/** More occurrences than this are not counted one by one. */
const MAX_COUNTED = 10_000

export function remedyFor(it: Stalled): Remedy {
  const { definition, now, ordinal } = it
  const { maxRuns } = definition
  if (maxRuns !== null && it.latest === null && it.createdAt < it.historyFrom) return { kind: 'unknown' }
  if (maxRuns !== null && ordinal > maxRuns) return { kind: 'settle' }
  if (definition.schedule.type === 'delay') return chain(it, delayMs(definition.schedule))
  const plan = planOf(definition)
  const after = resumedAfter(it)
  const passed = countOccurrences(plan, after, now, MAX_COUNTED)
  const ahead = nextOccurrence(plan, now)
  if (passed.first === null || passed.last === null)
    return ahead === null ? { kind: 'settle' } : { kind: 'go_on', at: ahead, lost: null }
  const all = {
    first: passed.first,
    last: passed.atLeast ? now : passed.last,
    count: passed.atLeast ? null : passed.count,
  }
  const isTooOld = passed.last < now - durationMs(definition.misfire.window)
  switch (definition.misfire.policy) {
    case 'run_once':
      if (passed.atLeast || isTooOld) return { kind: 'go_on', at: ahead, lost: all }
      return { kind: 'go_on', at: passed.last, lost: beforeLast(it, all) }
    default:
      return { kind: 'go_on', at: ahead, lost: all }
  }
}

/** All but the last of what came due; null when that was the only one. */
function beforeLast({ definition }: Stalled, { first, last, count }: Lost): Lost | null {
  if (count === null || count < 2) return null
  const before = countOccurrences(planOf(definition), first - 1, last - 1, MAX_COUNTED)
  return { first, last: before.last ?? first, count: count - 1 }
}

/** The first instant that may be owed lies after this one. */
function resumedAfter({ definition, latest, takenOverAt, createdAt }: Stalled): number {
  const made = definition.startAt === null ? createdAt : createdAt - 1
  return Math.max(latest ?? made, takenOverAt ?? made, made)
}

/** A chain goes on after the end of its last run, however long that is ago. */
function chain({ definition, lastEndedAt, createdAt }: Stalled, intervalMs: number): Remedy {
  const { startAt, endAt } = planOf(definition)
  const first = Math.max(createdAt, startAt ?? createdAt)
  const at = lastEndedAt === null ? first : Math.floor(lastEndedAt + intervalMs)
  return endAt !== null && at > endAt ? { kind: 'settle' } : { kind: 'go_on', at, lost: null }
}
