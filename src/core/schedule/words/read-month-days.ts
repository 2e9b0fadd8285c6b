/** Days counted within the month or the year. */
import { readList, readNumber } from './read-values.ts'
import { ANY_DAY, cronName, type Days } from './read-weekdays.ts'
import type { Reader } from './reader.ts'
import {
  MONTH_SPELLINGS,
  monthIndex,
  ORDINAL_WORDS,
  WEEKDAY_SPELLINGS,
  WEEKDAY_WORDS,
  weekdayIndex,
} from './vocabulary.ts'

/** "24 December", "december 24th", "the 24th of December". */
export function readYearly(reader: Reader): Days | null {
  const date = reader.attempt(() => readDayThenMonth(reader)) ?? readMonthThenDay(reader)
  return date === null ? null : { day: String(date.day), month: String(date.month), weekday: '*' }
}

interface DayAndMonth {
  readonly day: number
  readonly month: number
}

export function readDayThenMonth(reader: Reader): DayAndMonth | null {
  reader.quietly(() => reader.words('the'))
  const day = readDayNumber(reader)
  if (day === null) return null
  reader.quietly(() => reader.words('of'))
  const month = readMonth(reader)
  return month === null ? null : { day, month }
}

export function readMonthThenDay(reader: Reader): DayAndMonth | null {
  const month = reader.quietly(() => readMonth(reader))
  const day = month === null ? null : readDayNumber(reader)
  return month === null || day === null ? null : { day, month }
}

function readMonth(reader: Reader): number | null {
  const name = reader.oneOf(MONTH_SPELLINGS, 'a month such as December')
  return name === null ? null : monthIndex(name) + 1
}

/** "24" or "24th". */
const readDayNumber = (reader: Reader): number | null =>
  reader.attempt(() => readOrdinalNumber(reader)) ?? readNumber(reader, 1, 31, 'a day of the month')

function readOrdinalNumber(reader: Reader): number | null {
  const match = reader.take(/(\d{1,2})(?:st|nd|rd|th)(?!\w)/iy, 'a day such as 1st')
  const day = Number(match?.[1])
  return match === null || day < 1 || day > 31 ? null : day
}

/** "the last day of the month", "1st and 15th of every month", "on the 15th". */
export function readMonthly(reader: Reader): Days | null {
  reader.words('the')
  const numbered = reader.attempt(() => readList(reader, readOrdinalNumber, 31, 'days'))
  if (numbered !== null && !isWeekdayNext(reader)) {
    readOfTheMonth(reader)
    return { ...ANY_DAY, day: numbered.join(',') }
  }
  const days = numbered === null ? readDayOfMonth(reader) : readCountedWeekday(reader, numbered)
  return days !== null && readOfTheMonth(reader) ? { ...ANY_DAY, ...days } : null
}

const isWeekdayNext = (reader: Reader): boolean => WEEKDAY_SPELLINGS.some((word) => reader.sees(word))

/** "of the month", "of every month". */
function readOfTheMonth(reader: Reader): boolean {
  if (reader.words('of the month')) return true
  const others = [
    'of every month',
    'of each month',
    'of a month',
    'every month',
    'each month',
    'in the month',
  ]
  return reader.quietly(() => others.some((words) => reader.words(words)))
}

/** Reads the days of a sentence after "every month". */
export function readDayWithinMonth(reader: Reader): Days | null {
  const whole = reader.attempt(() => readMonthly(reader))
  if (whole !== null) return whole
  reader.quietly(() => reader.words('the'))
  const days = readDayOfMonth(reader)
  return days === null ? null : { ...ANY_DAY, ...days }
}

function readDayOfMonth(reader: Reader): Partial<Days> | null {
  const nearest = reader.attempt(() =>
    reader.words('weekday nearest day') ? readNumber(reader, 1, 31, 'a day') : null,
  )
  if (nearest !== null) return { day: `${nearest}W` }
  const listed = reader.attempt(() => {
    if (reader.oneOf(['days', 'day'], '"day" and its number') === null) return null
    return readList(reader, (r) => readNumber(r, 1, 31, 'a day of the month'), 31, 'days')
  })
  if (listed !== null) return { day: listed.join(',') }
  return readCountedDay(reader)
}

/** "last day", "first weekday", "third friday", "first" alone. */
function readCountedDay(reader: Reader): Partial<Days> | null {
  const ordinal = reader.oneOf(ORDINAL_WORDS, 'first, second, third, fourth, fifth or last')
  if (ordinal === null) return null
  const isLast = ordinal === 'last'
  if (isLast && reader.words('day')) return { day: 'L' }
  if (isLast && reader.words('weekday')) return { day: 'LW' }
  if (ordinal === 'first' && reader.words('day')) return { day: '1' }
  if (ordinal === 'first' && reader.quietly(() => reader.words('weekday'))) return { day: '1W' }
  if (!isLast && reader.sees('of')) return { day: String(ORDINAL_WORDS.indexOf(ordinal) + 1) }
  const name = reader.oneOf(WEEKDAY_SPELLINGS, 'a day of the week such as Monday')
  return name === null ? null : nthWeekday(name, isLast ? 'L' : `#${ORDINAL_WORDS.indexOf(ordinal) + 1}`)
}

/** "1st monday": the number was read as a day before the weekday was seen. */
function readCountedWeekday(reader: Reader, numbers: readonly number[]): Partial<Days> | null {
  const [nth] = numbers
  if (numbers.length !== 1 || nth === undefined || nth > 5) return reader.miss('1st to 5th before a weekday')
  const name = reader.oneOf(WEEKDAY_SPELLINGS, 'a day of the week such as Monday')
  return name === null ? null : nthWeekday(name, `#${nth}`)
}

const nthWeekday = (name: string, modifier: string): Partial<Days> => ({
  weekday: `${cronName(WEEKDAY_WORDS[weekdayIndex(name)] ?? name)}${modifier}`,
})
