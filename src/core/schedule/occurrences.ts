/**
 * The due instants of a plan. Everything here is a pure function of the plan, so every node computes the same occurrences at
 * any time. The schedule must have passed `validateSchedule`. Instants are epoch milliseconds. These are nominal times; jitter
 * only determines how much later each occurrence fires.
 */
import assert from 'node:assert/strict'
import { parseDuration } from '../values/duration.ts'
import { atOnce, type Steps } from '../values/steps.ts'
import { nextDate } from './dates.ts'
import { hashOf } from './hash.ts'
import { parseInstant } from './instant.ts'
import type { DelaySchedule, EverySchedule, Plan, Trigger } from './schedule.ts'
import { wallRuleOf } from './wall-rule.ts'

/**
 * The first instant strictly after `after` at which the plan is due; null if there is none or the schedule has no times of its
 * own.
 */
export function nextOccurrence(plan: Plan, after: number): number | null {
  const lowest = plan.startAt === null ? after : Math.max(after, plan.startAt - 1)
  const next = nextUnbounded(plan, lowest)
  return next === null || isPastEnd(plan, next) ? null : next
}

/**
 * The first occurrence of a plan at or after `from`. A `once` in the past is still its own first occurrence (the misfire rule
 * decides whether it runs), and a `delay` begins at once or at startAt, whichever is later.
 */
export function firstOccurrence(plan: Plan, from: number): number | null {
  const { schedule, startAt } = plan
  if (schedule.type === 'delay') {
    const first = Math.max(from, startAt ?? from)
    return isPastEnd(plan, first) ? null : first
  }
  if (schedule.type === 'once') return nextOccurrence(plan, Number.NEGATIVE_INFINITY)
  return nextOccurrence(plan, from - 1)
}

/**
 * The jitter of an occurrence: how much later than its nominal instant it fires. It is derived from the seed and the instant,
 * so every node computes the same value. It never extends to the next occurrence or beyond endAt.
 */
export function jitterOf(plan: Plan, occurrence: number): number {
  const { jitterMs = 0, endAt, seed } = plan
  if (jitterMs === 0) return 0
  const next = nextUnbounded(plan, occurrence)
  const room = Math.min(
    jitterMs,
    next === null ? jitterMs : next - occurrence - 1,
    endAt === null ? jitterMs : endAt - occurrence,
  )
  return room > 0 ? hashOf(`${seed ?? ''}\n${occurrence}`) % (room + 1) : 0
}

/** The instant at which an occurrence fires. */
export const dueAt = (plan: Plan, occurrence: number): number => occurrence + jitterOf(plan, occurrence)

/** Milliseconds from the end of a run to the next occurrence. */
export const delayMs = (schedule: DelaySchedule): number => milliseconds(schedule.interval)

/**
 * The occurrence of a `delay` that follows a run which ended, or was skipped, at an instant; null if it lies past the end of the
 * plan. The statements that end runs compute the same (`nextOfChain` in store/agenda/chain.ts).
 */
export function nextOfDelay(plan: Plan, endedAt: number): number | null {
  assert(plan.schedule.type === 'delay')
  const at = Math.floor(endedAt + delayMs(plan.schedule))
  return isPastEnd(plan, at) ? null : at
}

/** The occurrence that a `delay` without a live row should have: the next after its last run, or its first if none has ended. */
export function owedOfDelay(
  plan: Plan,
  { lastEndedAt, createdAt }: { readonly lastEndedAt: number | null; readonly createdAt: number },
): number | null {
  return lastEndedAt === null ? firstOccurrence(plan, createdAt) : nextOfDelay(plan, lastEndedAt)
}

/** The number of occurrences in a period. */
export interface OccurrenceCount {
  readonly count: number
  readonly first: number | null
  /** The last occurrence that was counted; if `atLeast` is set, later ones exist. */
  readonly last: number | null
  /** Whether counting stopped at the limit: there are more than `count`. */
  readonly atLeast: boolean
}

/**
 * Counts the occurrences in (after, upTo]. `limit` bounds the work; the count of an `every` is computed by division, so it is
 * exact whatever the limit.
 */
export function countOccurrences(plan: Plan, after: number, upTo: number, limit: number): OccurrenceCount {
  return atOnce(countSteps(plan, after, upTo, limit))
}

/** Maximum number of occurrences that any caller counts one by one. */
export const MAX_COUNTED = 10_000

/** `countOccurrences` in steps. */
export function* countSteps(plan: Plan, after: number, upTo: number, limit: number): Steps<OccurrenceCount> {
  if (plan.schedule.type === 'every') return countGrid(plan, plan.schedule, after, upTo)
  let count = 0
  let first: number | null = null
  let last: number | null = null
  for (const occurrence of occurrencesBetween(plan, after, upTo, limit + 1)) {
    if (count === limit) return { count, first, last, atLeast: true }
    first ??= occurrence
    last = occurrence
    count += 1
    yield
  }
  return { count, first, last, atLeast: false }
}

/**
 * The occurrences in (after, upTo], in order, at most `limit` of them, within startAt and endAt. Works for every kind of
 * schedule, including several triggers, but a `delay` has no occurrences that can be computed. The number of previous runs is
 * not known here, so `maxRuns` is not applied.
 */
export function* occurrencesBetween(
  plan: Plan,
  after: number,
  upTo: number,
  limit: number,
): Generator<number, void, undefined> {
  let next = nextOccurrence(plan, after)
  for (let yielded = 0; yielded < limit && next !== null && next <= upTo; yielded += 1) {
    yield next
    next = nextOccurrence(plan, next)
  }
}

const isPastEnd = ({ endAt }: Plan, instant: number): boolean => endAt !== null && instant > endAt

function nextUnbounded(plan: Plan, after: number): number | null {
  const { schedule } = plan
  switch (schedule.type) {
    case 'delay':
    case 'manual':
      return null
    case 'several': {
      let earliest: number | null = null
      for (const trigger of schedule.triggers) {
        const next = nextOfTrigger(plan, trigger, after)
        if (next !== null && (earliest === null || next < earliest)) earliest = next
      }
      return earliest
    }
    default:
      return nextOfTrigger(plan, schedule, after)
  }
}

function nextOfTrigger(plan: Plan, trigger: Trigger, after: number): number | null {
  switch (trigger.type) {
    case 'once': {
      const at = instant(trigger.at)
      return at > after ? at : null
    }
    case 'every':
      return nextOnGrid(originOf(plan, trigger), milliseconds(trigger.interval), after)
    case 'cron':
    case 'daily':
      return wallRuleOf(trigger, plan.seed).nextFire(after)
    case 'dates':
      return nextDate(trigger, after)
  }
}

const originOf = ({ anchorAt }: Plan, { anchor }: EverySchedule): number =>
  anchor === undefined ? anchorAt : instant(anchor)

/** Uses remainders, which are exact for large integers where quotients are not. The origin may be before or after `after`. */
function nextOnGrid(origin: number, interval: number, after: number): number {
  const sinceLast = (((after - origin) % interval) + interval) % interval
  return after - sinceLast + interval
}

function countGrid(plan: Plan, schedule: EverySchedule, after: number, upTo: number): OccurrenceCount {
  const first = nextOccurrence(plan, after)
  const bound = plan.endAt === null ? upTo : Math.min(upTo, plan.endAt)
  if (first === null || first > bound) return { count: 0, first: null, last: null, atLeast: false }
  const interval = milliseconds(schedule.interval)
  const last = bound - ((bound - first) % interval)
  return { count: (last - first) / interval + 1, first, last, atLeast: false }
}

function milliseconds(text: string): number {
  const parsed = parseDuration(text)
  assert(parsed.ok, `the stored duration "${text}" is not valid`)
  return parsed.ms
}

function instant(text: string): number {
  const parsed = parseInstant(text)
  assert(parsed.ok, `the stored instant "${text}" is not valid`)
  return parsed.at
}
