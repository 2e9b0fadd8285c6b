import type { TaskDefinition } from '../task/task.ts'

/** What limits the runs of a concurrency key. */
export interface LaneGate {
  readonly key: string
  /** Only so many may be in progress at once. */
  readonly places: number
  /** How often they may start, such as `10/s`, and how many at once; null for any number, and for the default. */
  readonly rate: string | null
  readonly burst: number | null
}

/** The fields of a task that decide about its gate. */
export const GATE_FIELDS = [
  'concurrencyKey',
  'concurrencyLimit',
  'concurrencyRate',
  'concurrencyBurst',
] as const

/** The gate of a task with a concurrency key; null without one. */
export function gateOf(definition: Pick<TaskDefinition, (typeof GATE_FIELDS)[number]>): LaneGate | null {
  const { concurrencyKey: key, concurrencyLimit: places, concurrencyRate: rate } = definition
  if (key === null) return null
  return { key, places, rate, burst: rate === null ? null : definition.concurrencyBurst }
}
