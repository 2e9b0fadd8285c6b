/**
 * Says what is wrong with a schedule before it is stored: which field, what it holds, what is allowed.
 * Shapes are the caller's business; this is about values. What passes here can be stepped for ever after
 * without an error.
 */
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../duration.ts'
import { checkCron } from './cron-fields.ts'
import { CronStepper } from './cron-stepper.ts'
import { type DaylightSavingChoice, FOLD_POLICIES, GAP_POLICIES } from './daylight-saving.ts'
import { parseInstant } from './instant.ts'
import type { Schedule } from './schedule.ts'
import { zoneProblem } from './zone.ts'

/** More often than this a task is a busy loop; the scheduler's own pace is of this order. */
export const MIN_INTERVAL_MS = 10
export const MAX_INTERVAL_MS = MAX_DURATION_MS

/** One thing that is wrong with a schedule, and where. */
export interface ScheduleProblem {
  /** JSON pointer inside the schedule. */
  readonly pointer: string
  readonly detail: string
}

export type ScheduleVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly problems: readonly ScheduleProblem[] }

export function validateSchedule(schedule: Schedule): ScheduleVerdict {
  const problems = problemsOf(schedule)
  return problems.length === 0 ? { ok: true } : { ok: false, problems }
}

function problemsOf(schedule: Schedule): ScheduleProblem[] {
  switch (schedule.type) {
    case 'once':
      return instantProblems('/at', schedule.at)
    case 'every':
      return [
        ...intervalProblems(schedule.interval),
        ...(schedule.anchor === undefined ? [] : instantProblems('/anchor', schedule.anchor)),
      ]
    case 'delay':
      return intervalProblems(schedule.interval)
    case 'cron':
      return [
        ...expressionProblems(schedule.expression),
        ...zoneProblems(schedule),
        ...choiceProblems(schedule),
      ]
    case 'daily':
      return [
        ...wholeNumberProblems('/hour', schedule.hour, 23),
        ...wholeNumberProblems('/minute', schedule.minute, 59),
        ...zoneProblems(schedule),
        ...choiceProblems(schedule),
      ]
    case 'manual':
      return []
  }
}

function instantProblems(pointer: string, text: string): ScheduleProblem[] {
  const parsed = parseInstant(text)
  return parsed.ok ? [] : [{ pointer, detail: parsed.reason }]
}

function intervalProblems(interval: string): ScheduleProblem[] {
  const pointer = '/interval'
  const parsed = parseDuration(interval)
  if (!parsed.ok) return [{ pointer, detail: parsed.reason }]
  if (parsed.ms >= MIN_INTERVAL_MS) return []
  const allowed = `${formatDuration(MIN_INTERVAL_MS)}–${formatDuration(MAX_INTERVAL_MS)}`
  return [{ pointer, detail: `is ${formatDuration(parsed.ms)}; allowed ${allowed}` }]
}

function expressionProblems(expression: string): ScheduleProblem[] {
  const pointer = '/expression'
  const checked = checkCron(expression)
  if (!checked.ok) return checked.details.map((detail) => ({ pointer, detail }))
  if (new CronStepper(checked.fields).next(0) !== null) return []
  return [{ pointer, detail: 'never matches: none of its months has such a day' }]
}

function zoneProblems({ timezone }: { readonly timezone: string }): ScheduleProblem[] {
  const detail = zoneProblem(timezone)
  return detail === null ? [] : [{ pointer: '/timezone', detail }]
}

function choiceProblems({ gap, fold }: DaylightSavingChoice): ScheduleProblem[] {
  return [...oneOfProblems('/gap', gap, GAP_POLICIES), ...oneOfProblems('/fold', fold, FOLD_POLICIES)]
}

function oneOfProblems(
  pointer: string,
  value: string | undefined,
  allowed: readonly string[],
): ScheduleProblem[] {
  if (value === undefined || allowed.includes(value)) return []
  return [{ pointer, detail: `is unknown; allowed ${allowed.join(', ')}` }]
}

function wholeNumberProblems(pointer: string, value: number, max: number): ScheduleProblem[] {
  if (Number.isInteger(value) && value >= 0 && value <= max) return []
  return [{ pointer, detail: `is ${value}; allowed whole numbers 0–${max}` }]
}
