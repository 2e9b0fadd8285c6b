/** What a blackout says. Apart from how its windows are worked out, because the dashboard needs only this. */

export const BLACKOUT_EFFECTS = ['skip', 'defer'] as const
/** What becomes of an occurrence within: it is skipped, or the latest of its task runs when the window is over. */
export type BlackoutEffect = (typeof BLACKOUT_EFFECTS)[number]

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

/** From one instant to another. */
export interface RangeRule {
  readonly type: 'range'
  readonly from: string
  readonly to: string
}

/** So long from each instant that a cron expression matches. */
export interface CronRule {
  readonly type: 'cron'
  readonly expression: string
  readonly timezone: string
  readonly duration: string
}

/** From one wall time to the next other one, beginning on certain days of the week. */
export interface WeeklyRule {
  readonly type: 'weekly'
  readonly days: readonly Weekday[]
  readonly from: string
  readonly to: string
  readonly timezone: string
}

export type BlackoutRule = RangeRule | CronRule | WeeklyRule
