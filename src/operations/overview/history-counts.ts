/** Sums the per-minute counts of history into the steps of a chart. */

import { addBuckets, type LatenessBuckets, latenessAt } from '../../core/run/lateness.ts'
import { MINUTE_MS } from '../../core/values/time-units.ts'
import { utc } from '../../core/values/utc.ts'
import type { Queryable } from '../../store/database/database.ts'
import { groupRuns, readProgress, readTallies, type Tally, talliesOf } from '../../store/history/tally.ts'

/**
 * Maximum number of minutes counted from history itself because the tally has not reached them yet: counting a whole day would
 * take too long.
 */
const MAX_UNCOUNTED_MINUTES = 3

/** The counts of a project from an instant on. */
export interface HistoryCounts {
  readonly minutes: readonly Tally[]
  /** Whether every minute was counted, either by the tally or here. */
  readonly isComplete: boolean
  /** Minutes before this one were counted by the tally, those from `since` on are counted here. */
  readonly countedUntil: number
  readonly since: number
}

interface Stretch {
  readonly projectId: string
  readonly from: number
  readonly now: number
}

/** Returns the minutes that the tally has counted and, from history itself, the few that it has not reached yet. */
export async function countHistory(tx: Queryable, { projectId, from, now }: Stretch): Promise<HistoryCounts> {
  const [progress] = await tx.run(readProgress())
  const countedUntil = progress?.countedUntil ?? 0
  const since = Math.max(countedUntil, minuteOf(now) - MAX_UNCOUNTED_MINUTES * MINUTE_MS)
  const tallies = await tx.run(readTallies({ projectId, from }))
  const latest = talliesOf(await tx.run(groupRuns({ from: since, until: now + MINUTE_MS })))
  const minutes = [
    ...tallies.filter(({ minute }) => minute < since),
    ...latest.filter((tally) => tally.projectId === projectId),
  ]
  return { minutes, isComplete: since === countedUntil, countedUntil, since }
}

const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS) * MINUTE_MS

interface Steps {
  readonly now: number
  readonly stepMs: number
  readonly count: number
}

/** Returns steps of equal length, aligned to the epoch; the last one is still in progress. */
export function stepsOf(counts: HistoryCounts, { now, stepMs, count }: Steps) {
  const { minutes, isComplete, countedUntil, since } = counts
  const byStep = new Map<number, Tally[]>()
  for (const tally of minutes) {
    const step = Math.floor(tally.minute / stepMs)
    byStep.set(step, [...(byStep.get(step) ?? []), tally])
  }
  const last = Math.floor(now / stepMs)
  return Array.from({ length: count }, (_, i) => {
    const step = last - (count - 1 - i)
    const [begins, ends] = [step * stepMs, (step + 1) * stepMs]
    const isCounted = isComplete || ends <= countedUntil || begins >= since
    return { at: utc(begins), ...outcomesOf(byStep.get(step) ?? []), isCounted }
  })
}

export function outcomesOf(tallies: readonly Tally[]) {
  const sum = (of: (tally: Tally) => number) => tallies.reduce((total, tally) => total + of(tally), 0)
  return {
    completed: sum((tally) => tally.completed),
    permanentlyFailed: sum((tally) => tally.permanentlyFailed),
    cancelled: sum((tally) => tally.cancelled),
    skipped: sum((tally) => tally.skipped),
    missed: sum((tally) => tally.missed),
    latenessMs: latenessOf(addBuckets(tallies.map(({ late }) => late))),
  }
}

function latenessOf(buckets: LatenessBuckets) {
  const [p50, p99] = [latenessAt(buckets, 0.5), latenessAt(buckets, 0.99)]
  return p50 === null || p99 === null ? null : { p50, p99 }
}
