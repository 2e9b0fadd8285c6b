/**
 * When a task is due. A schedule is stored as the user wrote it (wall time plus IANA zone for cron and daily); the pure
 * functions in occurrences.ts compute every due instant from it.
 */
import { holdsHash } from './cron-fields.ts'
import type { DaylightSavingChoice } from './daylight-saving.ts'

/** Due once. `at` is an RFC 3339 instant with an offset or Z. */
export interface OnceSchedule {
  readonly type: 'once'
  readonly at: string
}

/** Fixed rate: due on the grid `anchor + k × interval`, however long the runs take. */
export interface EverySchedule {
  readonly type: 'every'
  readonly interval: string
  /** Determines the phase of the grid only; `startAt` and `endAt` of the task bound it. */
  readonly anchor?: string
}

/** Fixed delay: due one interval after the previous run has ended. */
export interface DelaySchedule {
  readonly type: 'delay'
  readonly interval: string
}

/** Five fields, or six with seconds first, read on the wall clock of `timezone`. */
export interface CronSchedule extends DaylightSavingChoice {
  readonly type: 'cron'
  readonly expression: string
  readonly timezone: string
}

/** Every day at one wall time of `timezone`. */
export interface DailySchedule extends DaylightSavingChoice {
  readonly type: 'daily'
  readonly hour: number
  readonly minute: number
  readonly timezone: string
}

/**
 * Due at each of a list of dates: RFC 3339 instants, or wall times of `timezone` without an offset. The order is arbitrary, and
 * a duplicate date is due once.
 */
export interface DatesSchedule extends DaylightSavingChoice {
  readonly type: 'dates'
  readonly dates: readonly string[]
  readonly timezone: string
}

/** Never due by time; runs only when triggered. */
export interface ManualSchedule {
  readonly type: 'manual'
}

/** Due whenever one of its triggers is due. An instant that several triggers share is one occurrence. */
export interface SeveralSchedule {
  readonly type: 'several'
  readonly triggers: readonly Trigger[]
}

export type WallClockSchedule = CronSchedule | DailySchedule
/** A schedule whose instants follow from itself and the clock. Only such schedules can be combined in `several`. */
export type Trigger = OnceSchedule | EverySchedule | WallClockSchedule | DatesSchedule
export type Schedule = Trigger | DelaySchedule | ManualSchedule | SeveralSchedule
export type ScheduleType = Schedule['type']
export const SCHEDULE_TYPES = [
  'once',
  'every',
  'delay',
  'cron',
  'daily',
  'dates',
  'manual',
  'several',
] as const satisfies readonly ScheduleType[]

/** Everything that decides when a task is due. Instants are epoch milliseconds. */
export interface Plan {
  readonly schedule: Schedule
  /** No occurrence is before this instant. */
  readonly startAt: number | null
  /** No occurrence is after this instant; one exactly at it is allowed. */
  readonly endAt: number | null
  /** Origin of the grid of an `every` without its own anchor: `startAt` if set, otherwise the creation of the task. */
  readonly anchorAt: number
  /** The seed of `H` and jitter: the same seed gives the same values. Empty if absent. */
  readonly seed?: string | null
  /** Maximum jitter of an occurrence. No jitter if absent. */
  readonly jitterMs?: number
}

/** The triggers of a schedule: those of `several`, or the schedule itself; none for `delay` and `manual`. */
export function triggersOf(schedule: Schedule): readonly Trigger[] {
  if (schedule.type === 'several') return schedule.triggers
  return schedule.type === 'delay' || schedule.type === 'manual' ? [] : [schedule]
}

/** Whether a schedule has different times for each task, because it depends on a seed. */
export const usesSeed = (schedule: Schedule): boolean =>
  triggersOf(schedule).some((trigger) => trigger.type === 'cron' && holdsHash(trigger.expression))

/** The zone of all wall times of a schedule; null if it has none or more than one. */
export function timezoneOf(schedule: Schedule): string | null {
  const zones = new Set(
    triggersOf(schedule).flatMap((trigger) => ('timezone' in trigger ? [trigger.timezone] : [])),
  )
  const [zone = null] = zones
  return zones.size === 1 ? zone : null
}
