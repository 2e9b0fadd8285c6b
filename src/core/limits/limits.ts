/** Limits of projects and keys. Null means no limit. */
import { durationMs } from '../task/task.ts'
import { formatDuration } from '../values/duration.ts'

/** Limits on how often tasks may be due, and how far ahead. */
export interface ScheduleLimits {
  readonly minPeriodMs: number | null
  readonly maxAheadMs: number | null
}

/** Limits that a key may have. */
export interface KeyLimits extends ScheduleLimits {
  /** Rate of API requests, such as `100/s`. */
  readonly requestRate: string | null
  /** Maximum size of the definition of one task. */
  readonly maxPayloadBytes: number | null
}

/** Limits that a project may have. */
export interface ProjectLimits extends KeyLimits {
  /** Rate at which runs start, such as `10/s`. */
  readonly runRate: string | null
  /** Maximum number of runs in progress. */
  readonly maxRunning: number | null
  /** Maximum number of tasks that are not finished, cancelled or deleted. */
  readonly maxTasks: number | null
  /** Maximum size of task definitions and files together. */
  readonly maxStoredBytes: number | null
}

export const NO_KEY_LIMITS: KeyLimits = {
  minPeriodMs: null,
  maxAheadMs: null,
  requestRate: null,
  maxPayloadBytes: null,
}

/** Limits as they are shown and typed: durations are text. */
export type InWords<L extends ScheduleLimits> = Omit<L, keyof ScheduleLimits> & {
  readonly minPeriod: string | null
  readonly maxAhead: string | null
}

/** A change to limits. Null removes a limit; an absent limit remains unchanged. */
export type LimitsEdit<L extends ScheduleLimits> = {
  readonly [K in keyof InWords<L>]?: InWords<L>[K] | undefined
}

export function inWords<L extends ScheduleLimits>({ minPeriodMs, maxAheadMs, ...rest }: L): InWords<L> {
  const word = (ms: number | null) => (ms === null ? null : formatDuration(ms))
  return { minPeriod: word(minPeriodMs), maxAhead: word(maxAheadMs), ...rest }
}

/** The limits that an edit names, in stored form. Durations were validated before. */
export function editFrom<L extends ScheduleLimits>({
  minPeriod,
  maxAhead,
  ...rest
}: LimitsEdit<L>): Partial<L> {
  const ms = (text: string | null | undefined) => (text == null ? text : durationMs(text))
  const named = Object.entries({ minPeriodMs: ms(minPeriod), maxAheadMs: ms(maxAhead), ...rest })
  return Object.fromEntries(named.filter(([, value]) => value !== undefined)) as Partial<L>
}
