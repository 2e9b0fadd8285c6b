/** Dates and instants, at each of which a task is due once. */
import { DAY_MS } from '../../values/time-units.ts'
import { civilFromDays, weekdayOf } from '../civil.ts'
import type { Schedule } from '../schedule.ts'
import { zoneOf } from '../zone.ts'
import { readDayThenMonth, readMonthThenDay } from './read-month-days.ts'
import { readPlace } from './read-place.ts'
import { readOneTime, type Time } from './read-times.ts'
import { readDuration, readInstant, readList } from './read-values.ts'
import type { Reader } from './reader.ts'
import { MAX_DATES_IN_WORDS, WEEKDAY_SPELLINGS, weekdayIndex } from './vocabulary.ts'

/** What relative dates are counted from. */
interface OnceOptions {
  readonly now: number
  readonly timezone?: string
}

/** "once at 2026-12-24T18:00:00Z", the instant alone, "now". */
export function readOnce(reader: Reader, { now }: OnceOptions): Schedule | null {
  if (reader.quietly(() => reader.words('now') || reader.words('immediately')))
    return { type: 'once', at: new Date(now).toISOString() }
  if (reader.words('once')) reader.take(/,/y, '","')
  reader.words('at')
  const at = readInstant(reader)
  return at === null ? null : { type: 'once', at }
}

/** "in 10 minutes", "10 minutes from now". */
export function readIn(reader: Reader, { now }: OnceOptions): Schedule | null {
  const isIn = reader.words('in')
  const ms = readDuration(reader)
  if (ms === null || !(isIn || reader.quietly(() => reader.words('from now')))) return null
  return { type: 'once', at: new Date(now + ms).toISOString() }
}

/** A list of dates, each a wall time or an instant. */
export function readDates(reader: Reader, options: OnceOptions): Schedule | null {
  reader.quietly(() => reader.words('once'))
  const isOn = reader.words('on')
  const dates = isOn
    ? readList(reader, readDate, MAX_DATES_IN_WORDS, 'dates')
    : reader.quietly(() => readList(reader, readDate, MAX_DATES_IN_WORDS, 'dates'))
  const place = dates === null ? null : readPlace(reader, options)
  return dates === null || place === null ? null : { type: 'dates', dates, ...place }
}

/** "tomorrow at 9:00", "today at noon", "next monday at 9:00": a date on the wall clock of the zone. */
export function readRelativeDate(reader: Reader, options: OnceOptions): Schedule | null {
  const daysAhead = readDaysAhead(reader)
  if (daysAhead === null) return null
  const time = readOneTime(reader)
  const place = time === null ? null : readPlace(reader, options)
  if (time === null || place === null) return null
  const zone = zoneOf(place.timezone)
  const today = Math.floor((options.now + zone.segmentAt(options.now).offset) / DAY_MS)
  const { year, month, day } = civilFromDays(today + daysAhead(today))
  return { type: 'dates', dates: [`${year}-${two(month)}-${two(day)}T${wallOf(time)}`], ...place }
}

/** Number of days from today, as a function of today's day number, which is counted from 1970. */
function readDaysAhead(reader: Reader): ((today: number) => number) | null {
  if (reader.words('tomorrow')) return () => 1
  if (reader.quietly(() => reader.words('today') || reader.words('tonight'))) return () => 0
  if (!reader.quietly(() => reader.words('next'))) return null
  const name = reader.oneOf(WEEKDAY_SPELLINGS, 'a day such as Monday')
  if (name === null) return null
  const target = (weekdayIndex(name) + 1) % 7
  return (today) => ((target - weekdayOf(today) + 6) % 7) + 1
}

function readDate(reader: Reader): string | null {
  const instant = reader.attempt(() => readInstant(reader))
  if (instant !== null) return instant
  const day = readIsoDay(reader) ?? reader.quietly(() => readNamedDay(reader))
  if (day === null) return null
  const joined = reader.take(/T(\d\d):(\d\d)(?::(\d\d))?(?![\w:])/iy, '"at"')
  if (joined !== null) return `${day}${joined[0].toUpperCase()}`
  const time = readOneTime(reader)
  return time === null ? null : `${day}T${wallOf(time)}`
}

const readIsoDay = (reader: Reader): string | null =>
  reader.take(/\d{4}-\d\d-\d\d(?![\d-])/y, 'a date such as 2026-12-24')?.[0] ?? null

/** "24 December 2026", "December 24th, 2026". */
function readNamedDay(reader: Reader): string | null {
  return reader.attempt(() => {
    const date = reader.attempt(() => readDayThenMonth(reader)) ?? readMonthThenDay(reader)
    reader.take(/,/y, '","')
    const year = date === null ? null : reader.take(/\d{4}(?![\w:-])/y, 'a year such as 2026')
    return date === null || year === null ? null : `${year[0]}-${two(date.month)}-${two(date.day)}`
  })
}

const wallOf = ({ hour, minute, second }: Time): string =>
  `${two(hour)}:${two(minute)}${second === 0 ? '' : `:${two(second)}`}`

const two = (value: number): string => String(value).padStart(2, '0')
