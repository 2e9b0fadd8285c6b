/** How high each bar of a strip is, from 0 to 1. */
import type { Task } from '../api/wire.ts'

type Recent = NonNullable<Task['recent']>[number]

/** A run as long as the middle one reaches half way up; twice that or more reaches the top. */
const MIDDLE = 0.5
const LEAST = 0.15

export interface StripBar {
  readonly run: Recent
  readonly height: number
}

/** Takes the latest run first, as the API has them, and gives the oldest first, as one reads. */
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
