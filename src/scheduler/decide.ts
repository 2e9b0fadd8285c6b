/**
 * Decides what to do with a row that has come due. Pure: its input is the row, its definition and the time; its result says
 * what the one statement that fires the row shall do. A task may have missed thousands of occurrences, so the work is divided
 * into steps.
 */

import { isBrief, misfireSteps, spread, type Unwatched } from '../core/policy/misfire.ts'
import { catchUpLaneOf } from '../core/run/lane.ts'
import { lastOccurrence } from '../core/schedule/last-occurrence.ts'
import {
  countSteps,
  dueAt,
  jitterOf,
  MAX_COUNTED,
  nextOccurrence,
  nextOfDelay,
} from '../core/schedule/occurrences.ts'
import type { Plan } from '../core/schedule/schedule.ts'
import { type KeptDefinition, MAX_QUEUED, planOf, queuedAtMost } from '../core/task/task.ts'
import { atOnce, type Steps } from '../core/values/steps.ts'
import type { CatchUpDecision } from '../store/agenda/catch-up.ts'
import { type Decision, JUST_RUN, type OverlapDecision, type Skip } from '../store/agenda/fire.ts'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import type { Blackouts } from './blackout-book.ts'

/** A due row and everything that the decision about it depends on. */
export interface DueCase {
  readonly row: DueRow
  readonly definition: KeptDefinition
  readonly now: number
  /** The unwatched period in which the row came due; null if its shard was watched. */
  readonly missedIn: Unwatched | null
  /** After an unwatched period no longer than this, at least one occurrence runs, whatever the misfire policy. */
  readonly misfireGraceMs: number
  /** The blackouts of its project, if there are any. */
  readonly blackouts?: Blackouts | null
  readonly newId: () => string
}

/** Decides without steps where possible: most rows are on time and in no blackout. */
export function decide(due: DueCase): Decision {
  if (mayTakeLong(due)) return atOnce(decideSteps(due))
  return withoutFollower(due) ?? withFollower(due, NOTHING_MISSED)
}

/** Only a decision about missed occurrences or blackouts can take long. */
export const mayTakeLong = ({ missedIn, blackouts = null }: DueCase): boolean =>
  missedIn !== null || blackouts !== null

/** The same as `decide`, in steps. */
export function* decideSteps(due: DueCase): Steps<Decision> {
  const decided = withoutFollower(due)
  if (decided) return decided
  const inBlackout = yield* blackedOut(due)
  if (inBlackout) return inBlackout
  return withFollower(due, due.missedIn === null ? NOTHING_MISSED : yield* afterOutage(due, due.missedIn))
}

/** Decides about a row that no further row follows; returns null for an occurrence that comes due. */
function withoutFollower(due: DueCase): Decision | null {
  const { row } = due
  // The backfiller ensures that the runs of a backfill start in turn.
  if (row.state === 'retrying' || row.kind === 'backfill') return JUST_RUN
  // The next row of a run that has waited was written when the run began to wait.
  if (row.kind === 'occurrence' && row.state === 'scheduled') return null
  const overlap = overlapOf(due)
  const exclusive = isExclusive(due)
  return putOff(due, exclusive || overlap ? { ...JUST_RUN, exclusive, overlap } : JUST_RUN)
}

const isExclusive = ({ definition }: DueCase): boolean => definition.overlap !== 'allow'

/** Decides about an occurrence and about those that were missed after it, together with the row that follows. */
function withFollower(due: DueCase, missed: Missed): Decision {
  const { row, definition } = due
  const exclusive = isExclusive(due)
  const overlap = overlapOf(due)
  if (definition.schedule.type === 'once') {
    const decision = overlap ? { ...JUST_RUN, exclusive, overlap } : JUST_RUN
    return missed === NOTHING_MISSED ? decision : { ...decision, ...missed }
  }
  const isLast = hasNoNext(due)
  const last = missed.catchUp?.runs.at(-1)?.at ?? 0
  const passed = Math.max(row.scheduledFor, missed.runFor ?? 0, missed.skip?.until ?? 0, last)
  const next = nextRow(due, passed)
  return missed.catchUp
    ? { ...missed, exclusive, overlap: null, isLast: isOver(due, missed.catchUp), next }
    : { ...missed, exclusive, overlap, isLast, next }
}

/** Defers a run that waited, or that catches up on an outage, while a blackout is in force. */
function putOff({ row, now, blackouts }: DueCase, decision: Decision): Decision {
  const window =
    row.kind === 'manual' || row.state === 'held' ? null : blackouts?.at(Math.max(now, row.wakeAt))
  if (!window || decision.overlap === null) return decision
  return { ...decision, overlap: { ...decision.overlap, deferUntil: window.until } }
}

/** Decides about an occurrence within a blackout; returns null if it is in none. */
function* blackedOut(due: DueCase): Steps<Decision | null> {
  const { row, definition, now, blackouts, newId } = due
  const window = blackouts?.at(row.scheduledFor)
  if (!window) return null
  const exclusive = isExclusive(due)
  if (window.effect === 'defer') {
    // A window that has ended by now defers nothing: the occurrence is simply late.
    if (window.until <= now) return null
    const overlap = { ...overlapFor(due), deferUntil: window.until }
    const isLast = hasNoNext(due)
    return { ...JUST_RUN, exclusive, overlap, isLast, next: nextOf(due, row.scheduledFor) }
  }
  const plan = planOf(definition)
  const until = lastOccurrence(plan, { from: row.scheduledFor, to: Math.min(now, window.until - 1) })
  const skip: Skip = {
    runId: newId(),
    reason: 'blackout',
    until,
    count: yield* countMissed(plan, row.scheduledFor, until),
  }
  return { ...JUST_RUN, exclusive, skip, next: nextOf(due, until) }
}

const hasNoNext = ({ row, definition: { schedule, maxRuns } }: DueCase): boolean =>
  schedule.type === 'delay' || (maxRuns !== null && row.ordinal >= maxRuns)

const nextOf = (due: DueCase, after: number) =>
  due.definition.schedule.type === 'once' ? null : nextRow(due, after)

/** Whether the catch-up runs use up the runs that the task may have. */
function isOver({ row, definition: { maxRuns } }: DueCase, { runs }: CatchUpDecision): boolean {
  return maxRuns !== null && row.ordinal + runs.length > maxRuns
}

/** Returns what the overlap policy decides; null if the row runs at once or is skipped, for which there is a cheaper statement. */
function overlapOf({ row, definition }: DueCase): OverlapDecision | null {
  const policy = definition.overlap
  const mayWait = policy !== 'skip' && policy !== 'allow'
  // A catch-up run waits for its turn and may have to yield to runs on time.
  const meetsCatchUp =
    row.kind === 'catchup' || (policy === 'skip' && definition.misfire.policy === 'run_all')
  if (!mayWait && !meetsCatchUp && row.state === 'scheduled') return null
  return overlapFor({ row, definition })
}

function overlapFor({ row, definition }: Pick<DueCase, 'row' | 'definition'>): OverlapDecision {
  const policy = definition.overlap
  return {
    // A run that supersedes others always waits, since the runs that waited before it are removed.
    places: queuedAtMost(policy) ?? MAX_QUEUED,
    beyond: policy === 'queue_all' ? 'overlap_limit' : 'overlap',
    supersedes: policy === 'cancel_previous' && row.kind !== 'catchup',
    deferUntil: null,
  }
}

function nextRow({ definition, now, newId }: DueCase, after: number): Decision['next'] {
  const plan = planOf(definition)
  const isDelay = plan.schedule.type === 'delay'
  const at = isDelay ? nextOfDelay(plan, Math.ceil(now)) : nextOccurrence(plan, after)
  if (at === null) return null
  return { runId: newId(), at: Math.ceil(at), ...jittered(plan, at) }
}

/** The jitter of an occurrence. Most tasks have none and pay nothing for it. */
function jittered(plan: Plan, at: number): { readonly jitterMs?: number } {
  const jitterMs = plan.jitterMs ? jitterOf(plan, at) : 0
  return jitterMs === 0 ? {} : { jitterMs }
}

/** Returns when a row was to be fired according to its schedule, jitter included. */
export const dueInstant = ({ row, definition }: Pick<DueCase, 'row' | 'definition'>): number =>
  definition.jitter === null || row.kind === 'manual'
    ? row.scheduledFor
    : dueAt(planOf(definition), row.scheduledFor)

type Missed = Pick<Decision, 'skip' | 'runFor' | 'runForJitterMs' | 'catchUp'>
const NOTHING_MISSED: Missed = { skip: null, runFor: null, catchUp: null }

/** Applies the misfire policy to the row's own occurrence and to all that were missed after it in the same unwatched period. */
function* afterOutage(due: DueCase, stretch: Unwatched): Steps<Missed> {
  const { row, definition, now, newId } = due
  const plan = planOf(definition)
  const { misfire, maxRuns, schedule } = definition
  const first = row.scheduledFor
  // This policy does not decide about occurrences in a later blackout.
  const end = Math.min(stretch.to, (due.blackouts?.nextAfter(first) ?? Number.POSITIVE_INFINITY) - 1)
  const hasNewer = end < stretch.to && hasOneAfter(due, plan, { after: end, to: stretch.to })
  const brief = isBrief(stretch, due.misfireGraceMs)
  const runsLeft = maxRuns === null ? null : maxRuns - row.ordinal + 1
  const missed = { plan, misfire, now, first, end, runsLeft, isBrief: brief, hasNewer }
  const { runs, passedUntil, hasFailed } = yield* misfireSteps(missed)
  const skip: Skip | null =
    passedUntil === null
      ? null
      : {
          runId: newId(),
          reason: 'misfire',
          until: passedUntil,
          count: yield* countMissed(plan, first, passedUntil),
        }
  const lane = catchUpLaneOf(row.lane)
  if (hasFailed) return { skip, runFor: null, catchUp: { runs: [], hasFailed, lane } }
  const [latest] = runs
  if (latest === undefined) return { ...NOTHING_MISSED, skip }
  // A single occurrence of a brief unwatched period runs late as itself, without a catch-up run. A `delay` schedule continues
  // when its run has ended.
  const isAlone = runs.length === 1 && latest === first && brief && !hasNewer
  if (misfire.policy === 'run_all' && schedule.type !== 'delay' && !isAlone) {
    const spreadOut = yield* spread({ plan, misfire, now }, runs)
    const made = spreadOut.map((one) => ({ runId: newId(), ...one }))
    return { skip, runFor: null, catchUp: { runs: made, hasFailed, lane } }
  }
  if (latest === first) return NOTHING_MISSED
  const jitter = plan.jitterMs ? { runForJitterMs: jitterOf(plan, latest) || null } : {}
  return { ...NOTHING_MISSED, skip, runFor: latest, ...jitter }
}

/**
 * Whether the rest of the unwatched period contains an occurrence that no blackout skips. Such an occurrence is newer than all
 * those before the blackout.
 */
function hasOneAfter(
  { blackouts }: DueCase,
  plan: Plan,
  { after, to }: { after: number; to: number },
): boolean {
  for (let from = after; ; ) {
    const at = nextOccurrence(plan, from)
    if (at === null || dueAt(plan, at) > to) return false
    const window = blackouts?.at(at)
    if (window?.effect !== 'skip') return true
    from = window.until - 1
  }
}

/** Counts the occurrences from `first` to `last`, both included; returns null if there are too many to count. */
function* countMissed(plan: Plan, first: number, last: number): Steps<number | null> {
  const { count, atLeast } = yield* countSteps(plan, first, last, MAX_COUNTED)
  return atLeast ? null : count + 1
}
