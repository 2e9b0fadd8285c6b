/** The height of each bar of a strip, from 0 to 1. */
import type { Task } from '../api/wire.ts'

type Recent = NonNullable<Task['recent']>[number]

/** A run of median duration reaches half the height; twice the median or more reaches the top. */
const MIDDLE = 0.5
const LEAST = 0.15

export interface StripBar {
  readonly run: Recent
  readonly height: number
}

/** Takes the latest run first, as in the API, and returns the oldest first, as shown. */
export function stripOf(recent: readonly Recent[]): StripBar[] {
  const median = medianOf(
    recent.flatMap(({ durationMs, state }) =>
      state === 'completed' && durationMs !== null ? [durationMs] : [],
    ),
  )
  return recent.toReversed().map((run) => ({ run, height: heightOf(run, median) }))
}

function heightOf({ state, durationMs }: Recent, median: number): number {
  if (state === 'permanently_failed') return 1
  if (state !== 'completed' || durationMs === null) return MIDDLE
  if (median === 0) return MIDDLE
  return Math.min(1, Math.max(LEAST, (durationMs / median) * MIDDLE))
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
