/** On which days: counted within the month or the year, or named. */
import type { CronFields } from '../cron-fields.ts'
import { readList, readNumber } from './read-values.ts'
import type { Reader } from './reader.ts'
import { MONTH_WORDS, ORDINAL_WORDS, WEEKDAY_WORDS } from './vocabulary.ts'

export type Days = Pick<CronFields, 'day' | 'month' | 'weekday'>
export const ANY_DAY: Days = { day: '*', month: '*', weekday: '*' }

export function readYearly(reader: Reader): Days | null {
  const day = readNumber(reader, 1, 31, 'a day of the month')
  const month = day === null ? null : reader.oneOf(MONTH_WORDS, 'a month such as December')
  if (day === null || month === null) return null
  return { day: String(day), month: String(MONTH_WORDS.indexOf(month) + 1), weekday: '*' }
}

/** Days that are counted within the month. */
export function readMonthly(reader: Reader): Days | null {
  reader.words('the')
  const days = readDayOfMonth(reader)
  return days !== null && reader.words('of the month') ? { ...ANY_DAY, ...days } : null
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
  const ordinal = reader.oneOf(ORDINAL_WORDS, 'first, second, third, fourth, fifth or last')
  if (ordinal === null) return null
  if (ordinal === 'last' && reader.words('day')) return { day: 'L' }
  if (ordinal === 'last' && reader.words('weekday')) return { day: 'LW' }
  if (ordinal === 'first' && reader.words('day')) return { day: '1' }
  const name = reader.oneOf(WEEKDAY_WORDS, 'a day of the week such as Monday')
  if (name === null) return null
  return {
    weekday: `${cronName(name)}${ordinal === 'last' ? 'L' : `#${ORDINAL_WORDS.indexOf(ordinal) + 1}`}`,
  }
}

/** "weekday", "monday, wednesday and friday"; with an s after "on". */
export function readWeekdays(reader: Reader, isPlural: boolean): Days | null {
  if (reader.words(isPlural ? 'weekdays' : 'weekday')) return { ...ANY_DAY, weekday: 'MON-FRI' }
  const names = isPlural ? WEEKDAY_WORDS.map((name) => `${name}s`) : WEEKDAY_WORDS
  const expectation = isPlural
    ? '"weekdays" or days such as Mondays'
    : '"day", "weekday" or a day such as Monday'
  const list = readList(reader, (r) => r.oneOf(names, expectation), 7, 'days')
  if (list === null) return null
  const isNamed = (name: string) => list.some((word) => word.startsWith(name))
  return { ...ANY_DAY, weekday: WEEKDAY_WORDS.filter(isNamed).map(cronName).join(',') }
}

const cronName = (word: string): string => word.slice(0, 3).toUpperCase()
