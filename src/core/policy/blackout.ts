/**
 * Blackouts: windows in which no run of a project starts by time. A window lasts from one instant to another, or recurs on the
 * wall clock of a zone. Pure: every node computes the same result. The rule must have been validated.
 */

import { nextOccurrence } from '../schedule/occurrences.ts'
import type { Plan, Schedule } from '../schedule/schedule.ts'
import { durationMs, instantMs } from '../task/task.ts'
import type { BlackoutEffect, BlackoutRule, WeeklyRule } from './blackout-rule.ts'

/** One window, [from, to). */
export interface Span {
  readonly from: number
  readonly to: number
}

const planOfSchedule = (schedule: Schedule): Plan =>
  ({ schedule, startAt: null, endAt: null, anchorAt: 0, jitterMs: 0 }) as Plan

/** Longer than any day, even with clock changes. A weekly window is never longer than a day. */
const LONGEST_DAY_MS = 27 * 3_600_000

/** The window that contains an instant; if several do, the one that began first. */
export function spanAt(rule: BlackoutRule, at: number): Span | null {
  if (rule.type === 'range') {
    const span = { from: instantMs(rule.from), to: instantMs(rule.to) }
    return span.from <= at && at < span.to ? span : null
  }
  const reach = rule.type === 'cron' ? durationMs(rule.duration) : LONGEST_DAY_MS
  for (
    let span = spanAfter(rule, at - reach);
    span !== null && span.from <= at;
    span = spanAfter(rule, span.from)
  )
    if (at < span.to) return span
  return null
}

/** The first window that begins after an instant. */
export function spanAfter(rule: BlackoutRule, after: number): Span | null {
  switch (rule.type) {
    case 'range': {
      const from = instantMs(rule.from)
      return from > after ? { from, to: instantMs(rule.to) } : null
    }
    case 'cron': {
      const { expression, timezone } = rule
      const from = nextOccurrence(planOfSchedule({ type: 'cron', expression, timezone }), after)
      return from === null ? null : { from, to: from + durationMs(rule.duration) }
    }
    case 'weekly':
      return weeklyAfter(rule, after)
  }
}

function weeklyAfter({ days, from, to, timezone }: WeeklyRule, after: number): Span | null {
  const [hour, minute] = wallTime(from)
  const expression = `${minute} ${hour} * * ${days.join(',').toUpperCase()}`
  const begin = nextOccurrence(planOfSchedule({ type: 'cron', expression, timezone }), after)
  if (begin === null) return null
  const [endHour, endMinute] = wallTime(to)
  const daily = planOfSchedule({ type: 'daily', hour: endHour, minute: endMinute, timezone })
  return { from: begin, to: nextOccurrence(daily, begin) ?? begin }
}

/** Hours and minutes of a wall time such as 22:30. */
function wallTime(text: string): [hour: number, minute: number] {
  const [hour = 0, minute = 0] = text.split(':').map(Number)
  return [hour, minute]
}

/** A blackout whose window contains a given instant. */
export interface InForce {
  readonly effect: BlackoutEffect
  readonly until: number
}

/** The blackout that applies at an instant: blackouts that skip take precedence, and among these the one that ends last. */
export function inForce<T extends { readonly effect: BlackoutEffect; readonly rule: BlackoutRule }>(
  blackouts: readonly T[],
  at: number,
): (T & InForce) | null {
  const found = blackouts.flatMap((blackout) => {
    const span = spanAt(blackout.rule, at)
    return span ? [{ ...blackout, until: span.to }] : []
  })
  const skipping = found.filter(({ effect }) => effect === 'skip')
  const [first] = (skipping.length > 0 ? skipping : found).sort((a, b) => b.until - a.until)
  return first ?? null
}
