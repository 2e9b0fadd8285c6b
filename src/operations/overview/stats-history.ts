/** Reads the history of a longer period, in as many steps as a chart has room for. */
import { MINUTE_MS } from '../../core/values/time-units.ts'
import type { Context } from '../context.ts'
import { countHistory, stepsOf } from './history-counts.ts'

/** The periods before now for which history can be read. */
export const HISTORY_RANGES = ['1h', '5h', '24h', '7d'] as const
export type HistoryRange = (typeof HISTORY_RANGES)[number]

const STEPS: Readonly<Record<HistoryRange, { readonly stepMinutes: number; readonly count: number }>> = {
  '1h': { stepMinutes: 1, count: 60 },
  '5h': { stepMinutes: 5, count: 60 },
  '24h': { stepMinutes: 20, count: 72 },
  '7d': { stepMinutes: 120, count: 84 },
}

export async function readHistory(context: Context, range: HistoryRange) {
  const { db, clock, projectId } = context
  const now = clock.now()
  const { stepMinutes, count } = STEPS[range]
  const stepMs = stepMinutes * MINUTE_MS
  const from = Math.floor(now / stepMs) * stepMs - (count - 1) * stepMs
  const counts = await db.snapshot((tx) => countHistory(tx, { projectId, from, now }))
  return { range, stepMinutes, steps: stepsOf(counts, { now, stepMs, count }) }
}
