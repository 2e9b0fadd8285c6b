/** Days of the week: named, listed or as a range. */
import type { CronFields } from '../cron-fields.ts'
import { readList } from './read-values.ts'
import type { Reader } from './reader.ts'
import { WEEKDAY_SPELLINGS, WEEKDAY_WORDS, weekdayIndex } from './vocabulary.ts'

export type Days = Pick<CronFields, 'day' | 'month' | 'weekday'>
export const ANY_DAY: Days = { day: '*', month: '*', weekday: '*' }

const WORKING_DAYS = ['weekdays', 'weekday', 'workdays', 'workday']
const WEEKENDS = ['weekends', 'weekend']

/** "weekday", "mon, wed and fri", "monday to friday", "weekends". */
export function readWeekdays(reader: Reader): Days | null {
  return readDaysOfWeek(reader)?.days ?? null
}

/**
 * Reads days of the week without "every" before them. A single day in the singular is rejected, because "monday at 9:00" may
 * mean next Monday or every Monday.
 */
export function readRepeatedWeekdays(reader: Reader): Days | null {
  const found = readDaysOfWeek(reader)
  if (found === null) return null
  return found.isRepeated ? found.days : reader.miss('"every" before a single day, or "next"')
}

interface FoundDays {
  readonly days: Days
  /** Indexes of the days; Monday is 0. */
  readonly indexes: ReadonlySet<number>
  /** Whether a plural, a list or a range shows that the days are repeated. */
  readonly isRepeated: boolean
}

/** The days of the week that are not named. */
export function readWeekdaysExcept(reader: Reader): Days | null {
  const named = readDaysOfWeek(reader)?.indexes
  const left = new Set(WEEKDAY_WORDS.map((_, i) => i).filter((i) => named?.has(i) === false))
  return named === undefined || left.size === 0 ? null : { ...ANY_DAY, weekday: fieldOf(left) }
}

function readDaysOfWeek(reader: Reader): FoundDays | null {
  if (reader.quietly(() => readOneOf(reader, WORKING_DAYS) || reader.words('business days')))
    return repeated([0, 1, 2, 3, 4])
  if (reader.quietly(() => readOneOf(reader, WEEKENDS))) return repeated([5, 6])
  const spans = readList(reader, readSpan, 7, 'days')
  if (spans === null) return null
  const indexes = new Set(spans.flatMap(({ indexes }) => indexes))
  const isRepeated = indexes.size > 1 || spans.some(({ isPlural }) => isPlural)
  return { days: { ...ANY_DAY, weekday: fieldOf(indexes) }, indexes, isRepeated }
}

function repeated(days: readonly number[]): FoundDays {
  const indexes = new Set(days)
  return { days: { ...ANY_DAY, weekday: fieldOf(indexes) }, indexes, isRepeated: true }
}

const readOneOf = (reader: Reader, words: readonly string[]): boolean => reader.oneOf(words, '') !== null

interface Span {
  readonly indexes: number[]
  readonly isPlural: boolean
}

/** One day, or a range of days, which may continue past the end of the week. */
function readSpan(reader: Reader): Span | null {
  const first = reader.oneOf(WEEKDAY_SPELLINGS, '"day", "weekday" or a day such as Monday')
  if (first === null) return null
  const from = weekdayIndex(first)
  const last = reader.attempt(() => {
    if (reader.take(/(?:to|through|thru|until|till)(?!\w)|[-–]/iy, '"to" and another day') === null)
      return null
    return reader.oneOf(WEEKDAY_SPELLINGS, 'a day such as Friday')
  })
  const isPlural = WEEKDAY_WORDS.includes(first.replace(/s$/, '')) && first.endsWith('s')
  if (last === null) return { indexes: [from], isPlural }
  const length = ((weekdayIndex(last) - from + 7) % 7) + 1
  return { indexes: Array.from({ length }, (_, i) => (from + i) % 7), isPlural: true }
}

function fieldOf(indexes: ReadonlySet<number>): string {
  if (indexes.size === 7) return '*'
  const isWorkingWeek = indexes.size === 5 && !indexes.has(5) && !indexes.has(6)
  return isWorkingWeek
    ? 'MON-FRI'
    : WEEKDAY_WORDS.filter((_, i) => indexes.has(i))
        .map(cronName)
        .join(',')
}

export const cronName = (word: string): string => word.slice(0, 3).toUpperCase()
