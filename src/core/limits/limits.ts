/** What projects and keys may use. Null: as much as they want. */
import { durationMs } from '../task/task.ts'
import { formatDuration } from '../values/duration.ts'

/** How often tasks may be due, and how far ahead. */
export interface ScheduleLimits {
  readonly minPeriodMs: number | null
  readonly maxAheadMs: number | null
}

/** What a key may be limited to. */
export interface KeyLimits extends ScheduleLimits {
  /** Requests to the API, such as `100/s`. */
  readonly requestRate: string | null
  /** The definition of one task. */
  readonly maxPayloadBytes: number | null
}

/** What a project may be limited to. */
export interface ProjectLimits extends KeyLimits {
  /** Runs that start, such as `10/s`. */
  readonly runRate: string | null
  /** Runs in progress at once. */
  readonly maxRunning: number | null
  /** Tasks that are not finished, cancelled or deleted. */
  readonly maxTasks: number | null
  /** Their definitions and all files together. */
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

/** A change to limits; null removes one, and what is not named stays. */
export type LimitsEdit<L extends ScheduleLimits> = {
  readonly [K in keyof InWords<L>]?: InWords<L>[K] | undefined
}

export function inWords<L extends ScheduleLimits>({ minPeriodMs, maxAheadMs, ...rest }: L): InWords<L> {
  const word = (ms: number | null) => (ms === null ? null : formatDuration(ms))
  return { minPeriod: word(minPeriodMs), maxAhead: word(maxAheadMs), ...rest }
}

/** What an edit names, as it is stored. Durations were validated before. */
export function editFrom<L extends ScheduleLimits>({
  minPeriod,
  maxAhead,
  ...rest
}: LimitsEdit<L>): Partial<L> {
  const ms = (text: string | null | undefined) => (text == null ? text : durationMs(text))
  const named = Object.entries({ minPeriodMs: ms(minPeriod), maxAheadMs: ms(maxAhead), ...rest })
  return Object.fromEntries(named.filter(([, value]) => value !== undefined)) as Partial<L>
}
