/** The rules of blackouts. They are separate from the computation of windows because the dashboard needs only the rules. */

export const BLACKOUT_EFFECTS = ['skip', 'defer'] as const
/**
 * What happens to an occurrence within a blackout: `skip` skips it; with `defer`, the latest one of each task runs when the
 * window ends.
 */
export type BlackoutEffect = (typeof BLACKOUT_EFFECTS)[number]

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

/** A window from one instant to another. */
export interface RangeRule {
  readonly type: 'range'
  readonly from: string
  readonly to: string
}

/** A window of the given length that begins at each instant matched by a cron expression. */
export interface CronRule {
  readonly type: 'cron'
  readonly expression: string
  readonly timezone: string
  readonly duration: string
}

/** A window that begins at one wall time on certain days of the week and ends when the other wall time comes next. */
export interface WeeklyRule {
  readonly type: 'weekly'
  readonly days: readonly Weekday[]
  readonly from: string
  readonly to: string
  readonly timezone: string
}

export type BlackoutRule = RangeRule | CronRule | WeeklyRule
