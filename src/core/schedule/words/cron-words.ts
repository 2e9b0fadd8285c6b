/**
 * The sentence for a cron expression that the grammar of parse-words.ts can express; null for any other. The sentence parses to
 * an expression that fires at the same instants.
 */
import { type CronFields, checkCron } from '../cron-fields.ts'
import { capitalised, listed, MONTH_WORDS, ORDINAL_WORDS, WEEKDAY_WORDS } from './vocabulary.ts'

/** Maximum number of listed values. A longer list is no easier to read than the expression. */
const MAX_LISTED = 12

export function cronInWords(expression: string): string | null {
  const checked = checkCron(expression)
  if (!checked.ok) return null
  const { fields } = checked
  const named = namedTimes(fields)
  if (named !== null) {
    const days = leadingDays(fields)
    return days === null ? null : `${days} at ${listed(named)}`
  }
  const stepping = steppingTimes(fields)
  const days = fields.month === '*' || fields.month === '?' ? trailingDays(fields) : null
  return stepping === null || days === null ? null : `${stepping}${days}`
}

/** The times of day, if all have the same minute and second and are not a range of full hours; null otherwise. */
function namedTimes({ second, minute, hour }: CronFields): string[] | null {
  const [seconds, minutes, hours] = [valuesOf(second), valuesOf(minute), valuesOf(hour)]
  if (seconds?.length !== 1 || minutes?.length !== 1 || hours === null) return null
  if (isLong(hours) && seconds[0] === 0 && minutes[0] === 0) return null
  const after = `:${two(minutes[0] ?? 0)}${seconds[0] === 0 ? '' : `:${two(seconds[0] ?? 0)}`}`
  return hours.map((value) => two(value) + after)
}

/** Three or more consecutive hours are described as a range. */
const isLong = (hours: readonly number[]): boolean => hours.length > 2 && stretchOf(hours) !== null

/** The first hour of a range and the hour after its last; it may include midnight. */
function stretchOf(hours: readonly number[]): { from: number; to: number } | null {
  const isIn = (hour: number) => hours.includes((hour + 24) % 24)
  const starts = hours.filter((hour) => !isIn(hour - 1))
  const [from] = starts
  if (starts.length !== 1 || from === undefined) return null
  const to = (from + hours.length) % 24
  return { from, to: to === 0 ? 24 : to }
}

function steppingTimes({ second, minute, hour }: CronFields): string | null {
  const isAnyMinute = isStar(minute)
  const isAnyHour = isStar(hour)
  const secondStep = stepOf(second, 60)
  if (secondStep !== null) {
    if (!isAnyMinute) return null
    return sayStep(secondStep, 'second', hour)
  }
  if (valuesOf(second)?.join() !== '0') return null
  const minuteStep = stepOf(minute, 60)
  if (minuteStep !== null) return sayStep(minuteStep, 'minute', hour)
  const minutes = valuesOf(minute)
  if (minutes === null) return null
  if (isAnyHour && minutes.length > MAX_LISTED) return null
  if (isAnyHour)
    return `Every hour at minute${minutes.length === 1 ? '' : 's'} ${listed(minutes.map(String))}`
  if (minutes.join() !== '0') return null
  const hourStep = stepOf(hour, 24)
  if (hourStep !== null) return `${every(hourStep, 'hour')} by the clock`
  const range = /^(\d+)-(\d+)\/(\d+)$/.exec(hour)
  if (range !== null) {
    const [from, last, step] = [Number(range[1]), Number(range[2]), Number(range[3])]
    return step > 1 && 24 % step === 0 ? `${every(step, 'hour')} between ${from} and ${last + 1}` : null
  }
  return sayStretch(1, 'hour', valuesOf(hour))
}

function sayStep(step: number, unit: string, hour: string): string | null {
  return isStar(hour) ? `${every(step, unit)} by the clock` : sayStretch(step, unit, valuesOf(hour))
}

function sayStretch(step: number, unit: string, hours: readonly number[] | null): string | null {
  const stretch = hours === null ? null : stretchOf(hours)
  return stretch === null ? null : `${every(step, unit)} between ${stretch.from} and ${stretch.to}`
}

const every = (count: number, unit: string): string =>
  count === 1 ? `Every ${unit}` : `Every ${count} ${unit}s`

/** The days of a pattern at the beginning of a sentence. */
function leadingDays({ day, month, weekday }: CronFields): string | null {
  if (!isStar(month)) {
    const [days, months] = [valuesOf(day), valuesOf(month, MONTH_NAMES)]
    if (!isStar(weekday) || days?.length !== 1 || months?.length !== 1) return null
    return `Every year on ${days[0]} ${capitalised(MONTH_WORDS[(months[0] ?? 0) - 1] ?? '')}`
  }
  if (isStar(day) && isStar(weekday)) return 'Every day'
  if (!isStar(weekday) && isStar(day)) {
    const names = weekdayNames(weekday)
    if (names !== null) return `Every ${names.length === 0 ? 'weekday' : listed(names)}`
  }
  const counted = countedDays(day, weekday)
  return counted === null ? null : `On ${counted}`
}

/** The days of a pattern, to follow its times; empty if it matches every day. */
function trailingDays({ day, weekday }: CronFields): string | null {
  if (isStar(day) && isStar(weekday)) return ''
  if (isStar(day)) {
    const names = weekdayNames(weekday)
    if (names !== null)
      return `, on ${names.length === 0 ? 'weekdays' : listed(names.map((name) => `${name}s`))}`
  }
  const counted = countedDays(day, weekday)
  return counted === null ? null : `, on ${counted}`
}

/** Days that are counted within the month. */
function countedDays(day: string, weekday: string): string | null {
  if (isStar(day)) {
    const match = /^(\d|[a-z]{3})(#[1-5]|L)$/i.exec(weekday)
    const name = match === null ? undefined : weekdayWord(match[1] ?? '')
    if (match === null || name === undefined) return null
    const ordinal = match[2]?.toUpperCase() === 'L' ? 'last' : ORDINAL_WORDS[Number(match[2]?.slice(1)) - 1]
    return `the ${ordinal} ${name} of the month`
  }
  if (!isStar(weekday)) return null
  const upper = day.toUpperCase()
  if (upper === 'L') return 'the last day of the month'
  if (upper === 'LW') return 'the last weekday of the month'
  const nearest = /^(\d{1,2})W$/.exec(upper)
  if (nearest !== null) return `the weekday nearest day ${Number(nearest[1])} of the month`
  const days = valuesOf(day)
  return days === null || days.length > MAX_LISTED
    ? null
    : `day${days.length === 1 ? '' : 's'} ${listed(days.map(String))} of the month`
}

/** The days of the week by name, empty for Monday to Friday; null if the field contains other items. */
function weekdayNames(field: string): string[] | null {
  const values = valuesOf(field, WEEKDAY_NAMES)
  if (values === null) return null
  const days = new Set(values.map((value) => (value + 6) % 7))
  if (days.size === 5 && ![5, 6].some((day) => days.has(day))) return []
  if (days.size === 7) return null
  return WEEKDAY_WORDS.filter((_, index) => days.has(index)).map(capitalised)
}

function weekdayWord(text: string): string | undefined {
  const value = numberOf(text, WEEKDAY_NAMES)
  return value === null ? undefined : capitalised(WEEKDAY_WORDS[(value + 6) % 7] ?? '')
}

const MONTH_NAMES = ['', ...MONTH_WORDS.map((word) => word.slice(0, 3))]
const WEEKDAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const isStar = (field: string): boolean => field === '*' || field === '?'

/** The step of a star if it divides the whole range; 1 for a bare star. */
function stepOf(field: string, whole: number): number | null {
  if (isStar(field)) return 1
  const step = Number(/^\*\/(\d+)$/.exec(field)?.[1] ?? 0)
  return step > 0 && step < whole && whole % step === 0 ? step : null
}

/** The values of a list of numbers, names and ranges, in order; null if the field contains other items. */
function valuesOf(field: string, names: readonly string[] = []): number[] | null {
  const found = new Set<number>()
  for (const item of field.split(',')) {
    const [from = '', to = from, ...rest] = item.split('-')
    const low = numberOf(from, names)
    const high = to.toLowerCase() === 'sun' && to !== from ? 7 : numberOf(to, names)
    if (low === null || high === null || rest.length > 0) return null
    for (let value = low; value <= high; value += 1) found.add(value)
  }
  return [...found].sort((a, b) => a - b)
}

function numberOf(text: string, names: readonly string[]): number | null {
  if (/^\d{1,2}$/.test(text)) return Number(text)
  const index = text === '' ? -1 : names.indexOf(text.toLowerCase())
  return index < 0 ? null : index
}

const two = (value: number): string => String(value).padStart(2, '0')
