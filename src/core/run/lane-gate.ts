import type { TaskDefinition } from '../task/task.ts'

/** The limits of a concurrency key. */
export interface LaneGate {
  readonly key: string
  /** Maximum number of runs in progress at once. */
  readonly places: number
  /** How often runs may start, such as `10/s`, and how many at once. A null rate means no limit, a null burst the default. */
  readonly rate: string | null
  readonly burst: number | null
}

/** The fields of a task that determine its gate. */
export const GATE_FIELDS = [
  'concurrencyKey',
  'concurrencyLimit',
  'concurrencyRate',
  'concurrencyBurst',
] as const

/** The gate of a task; null if the task has no concurrency key. */
export function gateOf(definition: Pick<TaskDefinition, (typeof GATE_FIELDS)[number]>): LaneGate | null {
  const { concurrencyKey: key, concurrencyLimit: places, concurrencyRate: rate } = definition
  if (key === null) return null
  return { key, places, rate, burst: rate === null ? null : definition.concurrencyBurst }
}
