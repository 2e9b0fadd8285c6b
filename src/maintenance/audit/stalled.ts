/**
 * How a task goes on whose next row is gone. Pure: it sees where the task had come to and the time, and answers what is
 * to be written. What came due meanwhile is treated as after an outage, as the task's misfire policy says.
 */
import { type MadeUp, makeUpSteps, spread } from '../../core/policy/misfire.ts'
import { runsAtMostOnce } from '../../core/policy/worker-loss.ts'
import {
  countSteps,
  delayMs,
  dueAt,
  firstOccurrence,
  MAX_COUNTED,
  nextOccurrence,
} from '../../core/schedule/occurrences.ts'
import type { Plan } from '../../core/schedule/schedule.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import { atOnce, type Steps } from '../../core/values/steps.ts'

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
  /** Whether anything is owed cannot be told: what would tell it was deleted with old history. */
  | { readonly kind: 'unknown' }
  | GoOn

/** Go on with a row at an instant, make up for some of what came due before it, and record the rest as lost. */
export interface GoOn {
  readonly kind: 'go_on'
  /** Null when nothing more is due. */
  readonly at: number | null
  readonly late: readonly MadeUp[]
  readonly lost: Lost | null
}

/** Occurrences that came due while the row was gone and do not run. */
export interface Lost {
  readonly first: number
  readonly last: number
  /** Null when they were too many to count. */
  readonly count: number | null
  /** They have failed rather than been skipped. */
  readonly hasFailed: boolean
}

export function remedyFor(it: Stalled): Remedy {
  return atOnce(remedySteps(it))
}

/** The same in steps: what came due meanwhile may be many thousands. */
export function* remedySteps(it: Stalled): Steps<Remedy> {
  const { definition, now, ordinal } = it
  const { maxRuns, misfire } = definition
  if (maxRuns !== null && it.latest === null && it.createdAt < it.historyFrom) return { kind: 'unknown' }
  if (maxRuns !== null && ordinal > maxRuns) return { kind: 'settle' }
  if (definition.schedule.type === 'delay') return chain(it, delayMs(definition.schedule))
  const plan = planOf(definition)
  const first =
    definition.schedule.type === 'once' ? onlyOne(it, plan) : nextOccurrence(plan, resumedAfter(it))
  if (first === null) return { kind: 'settle' }
  if (dueAt(plan, first) > now) return { kind: 'go_on', at: first, late: [], lost: null }
  if (mayHaveRun(definition)) return { kind: 'go_on', at: null, late: [], lost: neverAgain(first) }
  const runsLeft = maxRuns === null ? null : maxRuns - ordinal + 1
  const made = yield* makeUpSteps({ plan, misfire, now, first, end: now, runsLeft, isBrief: false })
  const { runs, passedUntil, hasFailed } = made
  const lost = passedUntil === null ? null : { ...(yield* stretch(plan, first, passedUntil)), hasFailed }
  if (misfire.policy !== 'run_all' && runs.length > 0)
    return { kind: 'go_on', at: runs[0] ?? null, late: [], lost }
  const next = nextOccurrence(plan, runs.at(-1) ?? passedUntil ?? first)
  const isOver = runsLeft !== null && runs.length >= runsLeft
  const late = yield* spread({ plan, misfire, now }, runs)
  return { kind: 'go_on', at: isOver ? null : next, late, lost }
}

function* stretch(plan: Plan, first: number, last: number): Steps<Omit<Lost, 'hasFailed'>> {
  const later = yield* countSteps(plan, first, last, MAX_COUNTED)
  return { first, last, count: later.atLeast ? null : later.count + 1 }
}

/** The instant of a one-off; null when it is over, or so long ago that history would not tell. */
function onlyOne({ latest, createdAt, historyFrom }: Stalled, plan: Plan): number | null {
  const at = firstOccurrence(plan, createdAt)
  const isOver = at === null || at < historyFrom || (latest !== null && latest >= at)
  return isOver ? null : at
}

/** Of a one-off that has come due nothing tells whether its row was lost before it ran or after. It must not run twice if it says so. */
const mayHaveRun = (definition: TaskDefinition) =>
  definition.schedule.type === 'once' && runsAtMostOnce(definition)

const neverAgain = (at: number): Lost => ({ first: at, last: at, count: 1, hasFailed: false })

/** The first instant that may be owed lies after this one. What came due before history begins may have run. */
function resumedAfter({ definition, latest, takenOverAt, createdAt, historyFrom }: Stalled): number {
  const made = definition.startAt === null ? createdAt : createdAt - 1
  return Math.max(latest ?? historyFrom - 1, takenOverAt ?? made, made)
}

/** A chain goes on after the end of its last run, however long that is ago. */
function chain({ definition, lastEndedAt, createdAt }: Stalled, intervalMs: number): Remedy {
  const { startAt, endAt } = planOf(definition)
  const first = Math.max(createdAt, startAt ?? createdAt)
  const at = lastEndedAt === null ? first : Math.floor(lastEndedAt + intervalMs)
  return endAt !== null && at > endAt ? { kind: 'settle' } : { kind: 'go_on', at, late: [], lost: null }
}
