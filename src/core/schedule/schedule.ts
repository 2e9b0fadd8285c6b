/**
 * When a task is due. A schedule is stored as the user wrote it (wall time plus IANA zone for cron and
 * daily); every due instant follows from it by the pure functions in occurrences.ts.
 */
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
  /** Fixes the phase of the grid only; `startAt` and `endAt` of the task are what bounds it. */
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

/** Never due by time; runs only when triggered. */
export interface ManualSchedule {
  readonly type: 'manual'
}

export type WallClockSchedule = CronSchedule | DailySchedule
export type Schedule = OnceSchedule | EverySchedule | DelaySchedule | WallClockSchedule | ManualSchedule
export type ScheduleType = Schedule['type']
export const SCHEDULE_TYPES = [
  'once',
  'every',
  'delay',
  'cron',
  'daily',
  'manual',
] as const satisfies readonly ScheduleType[]

/** Everything that decides when a task is due. Instants are epoch milliseconds. */
export interface Plan {
  readonly schedule: Schedule
  /** Nothing is due before this instant. */
  readonly startAt: number | null
  /** Nothing is due after this instant; an occurrence exactly at it still is. */
  readonly endAt: number | null
  /** Origin of the grid of an `every` without anchor of its own: `startAt`, else the task's creation. */
  readonly anchorAt: number
}

export * from './daylight-saving.ts'
export { type ScheduleProblem, type ScheduleVerdict, validateSchedule } from './validate-schedule.ts'
