/**
 * Forecasts what comes due in the next hour, by the minute. The agenda contains only the next occurrence of each task. If there
 * are few tasks, the occurrences after it are computed from the schedules. If there are many, only the next ones are counted;
 * if there are very many, those of a few shards are counted and scaled up, since each shard has an equal share of the tasks.
 */

import { SHARD_COUNT } from '../../core/ids.ts'
import { countOccurrences, occurrencesBetween } from '../../core/schedule/occurrences.ts'
import { type Plan, type Schedule, triggersOf } from '../../core/schedule/schedule.ts'
import { planOf } from '../../core/task/task.ts'
import { MINUTE_MS } from '../../core/values/time-units.ts'
import { mapInTurns } from '../../runtime/turns.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type AheadRow, countAhead, type DueMinute, occurrencesAhead } from '../../store/history/overview.ts'

/** The minutes of the next hour, including the current one. */
export interface Forecast {
  readonly minutes: readonly DueMinute[]
  /** Whether there are more: occurrences after the next one of each task are not counted, or not all of them. */
  readonly atLeast: boolean
  /** Whether the counts come from a few shards and are scaled up. */
  readonly isEstimate: boolean
}

export const MINUTES_AHEAD = 60
/** Maximum number of tasks whose schedules are computed. */
const MAX_WORKED_OUT = 500
/** Maximum number of instants to compute, over all tasks. */
const MAX_INSTANTS = 100_000
const MAX_PER_SHARD = 100
const SAMPLED_SHARDS = 2
const MAX_PER_SAMPLED_SHARD = 20_000

const ALL_SHARDS = Array.from({ length: SHARD_COUNT }, (_, id) => id)

export async function forecast(tx: Queryable, projectId: string, now: number): Promise<Forecast> {
  const first = Math.floor(now / MINUTE_MS) * MINUTE_MS
  const until = first + MINUTES_AHEAD * MINUTE_MS
  const counted = await tx.run(
    countAhead({ projectId, until, shards: ALL_SHARDS, maxPerShard: MAX_PER_SHARD }),
  )
  if (counted[0]?.isCut) {
    const shards = pick(now)
    const sample = await tx.run(countAhead({ projectId, until, shards, maxPerShard: MAX_PER_SAMPLED_SHARD }))
    const scale = SHARD_COUNT / SAMPLED_SHARDS
    const minutes = sample.map(({ minute, count }) => ({ minute, count: count * scale }))
    return { minutes: everyMinute(first, minutes), atLeast: true, isEstimate: true }
  }
  const total = counted.reduce((sum, { count }) => sum + count, 0)
  if (total > MAX_WORKED_OUT)
    return { minutes: everyMinute(first, counted), atLeast: true, isEstimate: false }
  const rows = await tx.run(occurrencesAhead({ projectId, until, limit: MAX_WORKED_OUT }))
  const { minutes, isComplete } = await workOut(rows, first)
  return { minutes: everyMinute(first, [...counted, ...minutes]), atLeast: !isComplete, isEstimate: false }
}

/** Picks other shards each minute, so that no task is always or never among them. */
function pick(now: number): number[] {
  const first = Math.floor(now / MINUTE_MS) % SHARD_COUNT
  return Array.from(
    { length: SAMPLED_SHARDS },
    (_, i) => (first + (i * SHARD_COUNT) / SAMPLED_SHARDS) % SHARD_COUNT,
  )
}

/**
 * Computes the occurrences after those on the agenda, yielding to other work of the process. Tasks with the same rule are
 * computed once. A `delay` continues when its run has ended, which is not known yet, so the result is then incomplete.
 */
export async function workOut(
  rows: readonly AheadRow[],
  first: number,
  maxInstants = MAX_INSTANTS,
): Promise<{ minutes: DueMinute[]; isComplete: boolean }> {
  const last = first + MINUTES_AHEAD * MINUTE_MS - 1
  const byRule = new Map<string, readonly number[]>()
  let isComplete = true
  let budget = maxInstants
  const dueBy = (plan: Plan) => {
    const rule = ruleOf(plan)
    const known = byRule.get(rule)
    if (known) return known
    const limit = Math.min(MAX_OF_A_RULE, budget)
    const due = limit > 0 ? [...occurrencesBetween(plan, first, last, limit)] : []
    if (due.length === limit && limit < MAX_OF_A_RULE) isComplete = false
    budget -= due.length
    byRule.set(rule, due)
    return due
  }
  const minutes = await mapInTurns(rows, ({ at, ordinal, definition }): DueMinute[] => {
    const { schedule, maxRuns } = definition
    if (schedule.type === 'once' || schedule.type === 'manual') return []
    if (schedule.type === 'delay') {
      isComplete = false
      return []
    }
    const plan = planOf(definition)
    const left = maxRuns === null ? Number.POSITIVE_INFINITY : maxRuns - ordinal
    if (schedule.type === 'every')
      return countGrid(at, left, first, (after, upTo) => countOccurrences(plan, after, upTo, 1).count)
    return byMinute(dueBy(plan), at, left)
  })
  return { minutes: minutes.flat(), isComplete }
}

/** Counts the instants after `after` in each minute, up to `left` of them. */
function byMinute(instants: readonly number[], after: number, left: number): DueMinute[] {
  const counts = new Map<number, number>()
  let counted = 0
  for (const instant of instants) {
    if (instant <= after) continue
    if (counted === left) break
    counted += 1
    const minute = minuteOf(instant)
    counts.set(minute, (counts.get(minute) ?? 0) + 1)
  }
  return Array.from(counts, ([minute, count]) => ({ minute, count }))
}

/** Returns the key of a plan: plans with the same key are due at the same instants. */
const ruleOf = ({ schedule, startAt, endAt, seed, anchorAt }: Plan): string =>
  JSON.stringify([schedule, startAt, endAt, seed, hasGrid(schedule) && anchorAt])

/** Intervals are counted from each task's own anchor. */
const hasGrid = (schedule: Schedule): boolean => triggersOf(schedule).some(({ type }) => type === 'every')

/** One a second for an hour. */
const MAX_OF_A_RULE = 3_600

function countGrid(
  at: number,
  left: number,
  first: number,
  count: (after: number, upTo: number) => number,
): DueMinute[] {
  const minutes: DueMinute[] = []
  let remaining = left
  for (let minute = first; minute < first + MINUTES_AHEAD * MINUTE_MS && remaining > 0; minute += MINUTE_MS) {
    const after = Math.max(at, minute - 1)
    const upTo = minute + MINUTE_MS - 1
    if (after >= upTo) continue
    const due = Math.min(remaining, count(after, upTo))
    remaining -= due
    if (due > 0) minutes.push({ minute, count: due })
  }
  return minutes
}

const minuteOf = (instant: number): number => Math.floor(instant / MINUTE_MS) * MINUTE_MS

/** Returns every minute of the hour once, including those with no occurrences. */
function everyMinute(first: number, counted: readonly DueMinute[]): DueMinute[] {
  const sums = new Map<number, number>()
  for (const { minute, count } of counted) sums.set(minute, (sums.get(minute) ?? 0) + count)
  return Array.from({ length: MINUTES_AHEAD }, (_, i) => {
    const minute = first + i * MINUTE_MS
    return { minute, count: sums.get(minute) ?? 0 }
  })
}
