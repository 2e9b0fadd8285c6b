/** Steps by the clock: every few seconds, minutes or hours, all day or between two hours. */
import type { CronFields } from '../cron-fields.ts'
import { readMonthly } from './read-month-days.ts'
import { toHour } from './read-times.ts'
import { readCount, readList, readNumber } from './read-values.ts'
import { ANY_DAY, type Days, readRepeatedWeekdays } from './read-weekdays.ts'
import type { Reader } from './reader.ts'

/** "every 15 minutes between 8 and 18", "every 2 hours by the clock", "every hour at minute 5", "hourly". */
export function readStepping(reader: Reader): CronFields | null {
  const leading = reader.quietly(() => reader.attempt(() => readLeadingDays(reader)))
  const times = reader.attempt(() => readHourly(reader)) ?? reader.attempt(() => readSteps(reader))
  if (times === null) return null
  if (leading !== null) return times.isWhole ? null : { ...times.fields, ...leading }
  reader.take(/,/y, '","')
  const days = reader.attempt(() => readTrailingDays(reader))
  // Steps alone are a fixed rate counted from the creation of the task, which is another kind of schedule.
  if (days === null && times.isWhole) return null
  return { ...times.fields, ...(days ?? ANY_DAY) }
}

/** Reads days before the steps: "weekdays every 15 minutes between 9 and 17". */
function readLeadingDays(reader: Reader): Days | null {
  reader.words('on')
  const days = readRepeatedWeekdays(reader)
  reader.take(/,/y, '","')
  return days !== null && reader.sees('every') ? days : null
}

function readTrailingDays(reader: Reader): Days | null {
  if (!reader.words('on')) reader.quietly(() => reader.words('every') || reader.words('each'))
  return reader.attempt(() => readMonthly(reader)) ?? readRepeatedWeekdays(reader)
}

type Fields = Pick<CronFields, 'second' | 'minute' | 'hour'>

interface Times {
  readonly fields: Fields
  /** Whether the text names neither a part of the day nor "by the clock". */
  readonly isWhole: boolean
}

/** "every hour at minute 5", "every hour at :05", "every hour on the hour", "hourly". */
function readHourly(reader: Reader): Times | null {
  const isAdverb = reader.quietly(() => reader.words('hourly') || reader.words('once an hour'))
  if (!isAdverb && !reader.words('every hour') && !reader.quietly(() => reader.words('each hour')))
    return null
  const minutes = readMinutes(reader) ?? (isAdverb ? [0] : null)
  if (minutes === null) return null
  return { fields: { second: '0', minute: minutes.join(','), hour: '*' }, isWhole: false }
}

function readMinutes(reader: Reader): number[] | null {
  if (reader.quietly(() => reader.words('on the hour'))) return [0]
  return (
    reader.attempt(() => {
      if (!reader.words('at')) return null
      if (reader.oneOf(['minutes', 'minute'], '"minute" and 0 to 59') === null) return null
      return readList(reader, (r) => readNumber(r, 0, 59, 'a minute'), 60, 'minutes')
    }) ?? reader.quietly(() => reader.attempt(() => readMinutesPast(reader)))
  )
}

/** "at :05 and :35", "at 5 past", "at 15 minutes past the hour". */
function readMinutesPast(reader: Reader): number[] | null {
  if (!reader.words('at')) return null
  const colons = readList(reader, readColonMinute, 60, 'minutes')
  if (colons !== null) return colons
  const minute = readNumber(reader, 0, 59, 'a minute')
  reader.oneOf(['minutes', 'minute', 'mins', 'min'], '')
  if (minute === null || !reader.words('past')) return null
  if (!reader.words('the hour')) reader.words('each hour')
  return [minute]
}

function readColonMinute(reader: Reader): number | null {
  const match = reader.take(/:([0-5]\d)(?![\w:])/y, 'minutes such as :05')
  return match === null ? null : Number(match[1])
}

interface Steps {
  readonly count: number
  readonly unit: 'second' | 'minute' | 'hour'
}

function readSteps(reader: Reader): Times | null {
  if (!reader.words('every') && !reader.quietly(() => reader.words('each'))) return null
  const steps = readStepUnit(reader)
  return steps === null ? null : readStretch(reader, steps)
}

/** Reads a step that divides a minute, an hour or a day; otherwise the last step would be shorter. */
function readStepUnit(reader: Reader): Steps | null {
  const count = reader.attempt(() => readStepCount(reader)) ?? 1
  const spellings = {
    second: ['seconds', 'second', 'secs', 'sec'],
    minute: ['minutes', 'minute', 'mins', 'min'],
  }
  const hours = ['hours', 'hour', 'hrs', 'hr']
  const word = reader.oneOf([...spellings.second, ...spellings.minute, ...hours], 'seconds, minutes or hours')
  if (word === null) return null
  const unit = hours.includes(word) ? 'hour' : spellings.minute.includes(word) ? 'minute' : 'second'
  const whole = unit === 'hour' ? 24 : 60
  return whole % count === 0 ? { count, unit } : reader.miss(`a number of ${unit}s that divides ${whole}`)
}

function readStepCount(reader: Reader): number | null {
  if (reader.quietly(() => reader.words('other'))) return 2
  const count = readCount(reader, 'a number from 1 to 60')
  return count === null || count < 1 || count > 60 ? null : count
}

function readStretch(reader: Reader, { count, unit }: Steps): Times | null {
  const step = count === 1 ? '*' : `*/${count}`
  const hours = reader.attempt(() => readHours(reader, { count, unit }))
  const isByClock = hours === null && reader.words('by the clock')
  if (hours === null && !isByClock && reader.sees('between')) return null
  const isWhole = hours === null && !isByClock
  if (unit === 'second') return { fields: { second: step, minute: '*', hour: hours ?? '*' }, isWhole }
  if (unit === 'minute') return { fields: { second: '0', minute: step, hour: hours ?? '*' }, isWhole }
  return { fields: { second: '0', minute: '0', hour: hours ?? step }, isWhole }
}

/** "between 8 and 18", "from 9am to 5pm". The second hour is not included. */
function readHours(reader: Reader, { count, unit }: Steps): string | null {
  const isFrom = reader.quietly(() => reader.words('from'))
  if (!isFrom && !reader.words('between')) return null
  const from = readHour(reader, 23)
  const joins = isFrom ? ['to', 'until', 'till', 'through'] : ['and']
  if (from === null || reader.oneOf(joins, `"${joins[0]}"`) === null) return null
  const to = readHour(reader, 24)
  if (to === null) return null
  if (to % 24 === from) return reader.miss('another hour than the first')
  if (unit !== 'hour' || count === 1) return hoursBetween(from, to)
  // Steps across midnight would restart at midnight.
  if (to < from) return reader.miss('an hour later than the first')
  return `${from}-${to - 1}/${count}`
}

/** The hours from one to another, without the latter; the range may include midnight. */
function hoursBetween(from: number, to: number): string {
  const range = (low: number, high: number) => (low === high ? `${low}` : `${low}-${high}`)
  if (from < to) return range(from, to - 1)
  return to === 0 ? range(from, 23) : `${range(from, 23)},${range(0, to - 1)}`
}

function readHour(reader: Reader, max: number): number | null {
  const expectation = `a whole hour from 0 to ${max}`
  if (reader.quietly(() => reader.words('noon'))) return 12
  const match = reader.take(/(\d{1,2})(?::00)?(?:\s*(am|pm|a\.m\.|p\.m\.))?(?![\w:])/iy, expectation)
  if (match === null) return null
  const hour = toHour(Number(match[1]), match[2])
  return hour !== null && hour <= max ? hour : reader.miss(expectation)
}
