/**
 * Validates a schedule before it is stored, and reports which field is wrong, its value, and the allowed values. Callers check
 * the types of values; this checks the values. A schedule that is accepted here can always be stepped without an error.
 */
import { LRUCache } from 'lru-cache'
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../values/duration.ts'
import { type CronFields, checkCron, holdsHash, MAX_EXPRESSION_LENGTH, withoutHash } from './cron-fields.ts'
import { CronStepper } from './cron-stepper.ts'
import { MAX_DATES, parseDate } from './dates.ts'
import { type DaylightSavingChoice, FOLD_POLICIES, GAP_POLICIES } from './daylight-saving.ts'
import { parseInstant } from './instant.ts'
import type { DatesSchedule, Schedule } from './schedule.ts'
import { zoneProblem } from './zone.ts'

/** A task that is due more often is a busy loop; the scheduler cannot fire much more often either. */
export const MIN_INTERVAL_MS = 10
export const MAX_INTERVAL_MS = MAX_DURATION_MS
/** Maximum number of triggers. Every step evaluates each of them; a longer list should be several tasks. */
export const MAX_TRIGGERS = 20
/** Maximum number of problems that are reported for a list. */
const MAX_TOLD = 20

/** One problem of a schedule, and its location. */
export interface ScheduleProblem {
  /** JSON pointer inside the schedule. */
  readonly pointer: string
  readonly detail: string
}

export type ScheduleCheck =
  | { readonly ok: true }
  | { readonly ok: false; readonly problems: readonly ScheduleProblem[] }

export function validateSchedule(schedule: Schedule): ScheduleCheck {
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
    case 'dates':
      return [...zoneProblems(schedule), ...choiceProblems(schedule), ...dateProblems(schedule)]
    case 'manual':
      return []
    case 'several':
      return severalProblems(schedule.triggers)
  }
}

/** Only triggers that are due at instants of their own can be combined; for others, this reports why not. */
function severalProblems(triggers: readonly Schedule[]): ScheduleProblem[] {
  if (triggers.length === 0 || triggers.length > MAX_TRIGGERS)
    return [
      { pointer: '/triggers', detail: `has ${triggers.length} triggers; allowed are 1 to ${MAX_TRIGGERS}` },
    ]
  return triggers
    .flatMap((trigger, index) => {
      const place = `/triggers/${index}`
      const misfit = misfitReason(trigger)
      if (misfit !== null) return [{ pointer: `${place}/type`, detail: misfit }]
      return problemsOf(trigger).map(({ pointer, detail }) => ({ pointer: place + pointer, detail }))
    })
    .slice(0, MAX_TOLD)
}

function misfitReason({ type }: Schedule): string | null {
  const allowed = 'allowed once, every, cron, daily, dates'
  switch (type) {
    case 'delay':
      return `is delay, which counts from the end of each run and cannot be combined with other triggers; ${allowed}`
    case 'manual':
      return `is manual, which is not needed here: every task can be triggered; ${allowed}`
    case 'several':
      return `is several, which cannot be nested; list all triggers in one list; ${allowed}`
    default:
      return null
  }
}

function dateProblems(schedule: DatesSchedule): ScheduleProblem[] {
  const { dates } = schedule
  if (dates.length === 0 || dates.length > MAX_DATES)
    return [{ pointer: '/dates', detail: `has ${dates.length} dates; allowed are 1 to ${MAX_DATES}` }]
  const problems: ScheduleProblem[] = []
  for (const [index, text] of dates.entries()) {
    if (problems.length === MAX_TOLD) break
    const date = parseDate(text)
    if (date.kind === 'wrong') problems.push({ pointer: `/dates/${index}`, detail: date.reason })
  }
  return problems
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

/** Results for recent expressions: many tasks share a few, and checking one takes fifty microseconds. */
const knownExpressions = new LRUCache<string, readonly ScheduleProblem[]>({ max: 1_000 })

function expressionProblems(expression: string): readonly ScheduleProblem[] {
  const known = knownExpressions.get(expression)
  if (known !== undefined) return known
  const problems = newExpressionProblems(expression)
  if (expression.length <= MAX_EXPRESSION_LENGTH) knownExpressions.set(expression, problems)
  return problems
}

function newExpressionProblems(expression: string): ScheduleProblem[] {
  const pointer = '/expression'
  const checked = checkCron(expression)
  if (!checked.ok) return checked.details.map((detail) => ({ pointer, detail }))
  const drawn = holdsHash(expression) ? everyDraw(checked.fields) : [checked.fields]
  if (drawn.every((fields) => new CronStepper(fields).matchesEver())) return []
  const when = drawn.length === 1 ? '' : ' for some values of H'
  return [{ pointer, detail: `never matches${when}: none of its months has such a day` }]
}

/** The fields for each month that an `H` may stand for. In all other fields, every value of `H` matches at some time. */
const everyDraw = (fields: CronFields): CronFields[] =>
  Array.from({ length: 12 }, (_, month) => withoutHash({ fields, draw: () => month }))

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
