/**
 * Determines how a task whose next row is missing continues. Pure: its input is the progress of the task and the time; its
 * result is what to write. Occurrences that came due meanwhile are treated as after an outage, by the task's misfire policy.
 */
import { type CatchUpOccurrence, misfireSteps, spread } from '../../core/policy/misfire.ts'
import { runsAtMostOnce } from '../../core/policy/worker-loss.ts'
import {
  countSteps,
  dueAt,
  firstOccurrence,
  MAX_COUNTED,
  nextOccurrence,
  owedOfDelay,
} from '../../core/schedule/occurrences.ts'
import type { Plan } from '../../core/schedule/schedule.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import { atOnce, type Steps } from '../../core/values/steps.ts'

/** The progress of a task. Instants are epoch milliseconds. */
export interface Stalled {
  readonly definition: TaskDefinition
  readonly now: number
  readonly createdAt: number
  /** The previous version covered the occurrences up to this instant. */
  readonly takenOverAt: number | null
  /** The latest occurrence that is live or in history, and when the latest one ended. */
  readonly latest: number | null
  readonly lastEndedAt: number | null
  /** The ordinal of the next occurrence. */
  readonly ordinal: number
  readonly historyFrom: number
}

/** What to do about it. */
export type Remedy =
  /** No row is needed any more. */
  | { readonly kind: 'settle' }
  /** It is unknown whether an occurrence is owed: the rows that would show it were deleted with old history. */
  | { readonly kind: 'unknown' }
  | GoOn

/** Continue with a row at an instant, catch up on some of the occurrences before it, and record the rest as lost. */
export interface GoOn {
  readonly kind: 'go_on'
  /** Null if nothing more is due. */
  readonly at: number | null
  readonly catchUp: readonly CatchUpOccurrence[]
  readonly lost: Lost | null
}

/** Occurrences that came due while the row was gone and do not run. */
export interface Lost {
  readonly first: number
  readonly last: number
  /** Null if they were too many to count. */
  readonly count: number | null
  /** Whether they are recorded as failed rather than skipped. */
  readonly hasFailed: boolean
}

export function remedyFor(it: Stalled): Remedy {
  return atOnce(remedySteps(it))
}

/** The same in steps: many thousands of occurrences may have come due meanwhile. */
export function* remedySteps(it: Stalled): Steps<Remedy> {
  const { definition, now, ordinal } = it
  const { maxRuns, misfire } = definition
  if (maxRuns !== null && ordinal > maxRuns) return { kind: 'settle' }
  const plan = planOf(definition)
  const first = firstOwed(it, plan)
  if (first === null) return { kind: 'settle' }
  if (maxRuns !== null && it.latest === null && it.createdAt < it.historyFrom) return { kind: 'unknown' }
  if (definition.schedule.type === 'delay') return { kind: 'go_on', at: first, catchUp: [], lost: null }
  if (dueAt(plan, first) > now) return { kind: 'go_on', at: first, catchUp: [], lost: null }
  if (mayHaveRun(definition)) return { kind: 'go_on', at: null, catchUp: [], lost: neverAgain(first) }
  const runsLeft = maxRuns === null ? null : maxRuns - ordinal + 1
  const decision = yield* misfireSteps({ plan, misfire, now, first, end: now, runsLeft, isBrief: false })
  const { runs, passedUntil, hasFailed } = decision
  const lost = passedUntil === null ? null : { ...(yield* stretch(plan, first, passedUntil)), hasFailed }
  if (misfire.policy !== 'run_all' && runs.length > 0)
    return { kind: 'go_on', at: runs[0] ?? null, catchUp: [], lost }
  const next = nextOccurrence(plan, runs.at(-1) ?? passedUntil ?? first)
  const isOver = runsLeft !== null && runs.length >= runsLeft
  const catchUp = yield* spread({ plan, misfire, now }, runs)
  return { kind: 'go_on', at: isOver ? null : next, catchUp, lost }
}

/** Returns the first instant that may be owed; null if there is none. */
function firstOwed(it: Stalled, plan: Plan): number | null {
  switch (it.definition.schedule.type) {
    case 'delay':
      return nextOfChain(it)
    case 'once':
      return onlyOne(it, plan)
    default:
      return nextOccurrence(plan, resumedAfter(it))
  }
}

function* stretch(plan: Plan, first: number, last: number): Steps<Omit<Lost, 'hasFailed'>> {
  const later = yield* countSteps(plan, first, last, MAX_COUNTED)
  return { first, last, count: later.atLeast ? null : later.count + 1 }
}

/** Returns the instant of a one-off task; null if it is over, or so long ago that history cannot show it. */
function onlyOne({ latest, createdAt, historyFrom }: Stalled, plan: Plan): number | null {
  const at = firstOccurrence(plan, createdAt)
  const isOver = at === null || at < historyFrom || (latest !== null && latest >= at)
  return isOver ? null : at
}

/**
 * Whether the run of a due one-off may have happened already: nothing shows whether its row was lost before or after it ran.
 * With at-most-once execution it must not run twice.
 */
const mayHaveRun = (definition: TaskDefinition) =>
  definition.schedule.type === 'once' && runsAtMostOnce(definition)

const neverAgain = (at: number): Lost => ({ first: at, last: at, count: 1, hasFailed: false })

/** The first instant that may be owed lies after this one. What came due before history begins may have run. */
function resumedAfter({ definition, latest, takenOverAt, createdAt, historyFrom }: Stalled): number {
  const made = definition.startAt === null ? createdAt : createdAt - 1
  return Math.max(latest ?? historyFrom - 1, takenOverAt ?? made, made)
}

/** A chain continues after the end of its last run, however long ago that was. One from before history begins is not known. */
function nextOfChain({ definition, lastEndedAt, createdAt, historyFrom }: Stalled): number | null {
  return owedOfDelay(planOf(definition), { lastEndedAt, createdAt: Math.max(createdAt, historyFrom) })
}
