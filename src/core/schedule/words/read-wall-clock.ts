/** Reads all forms that are a pattern on the wall clock of a zone. */
import type { CronFields } from '../cron-fields.ts'
import type { Schedule, Trigger } from '../schedule.ts'
import { readDayWithinMonth, readMonthly, readYearly } from './read-month-days.ts'
import { type Place, readPlace } from './read-place.ts'
import { readStepping } from './read-steps.ts'
import { readTimes, readTimesOrMidnight, type Time } from './read-times.ts'
import { readNumber } from './read-values.ts'
import {
  ANY_DAY,
  type Days,
  readRepeatedWeekdays,
  readWeekdays,
  readWeekdaysExcept,
} from './read-weekdays.ts'
import type { Reader } from './reader.ts'

export function readWallClock(reader: Reader, options: { readonly timezone?: string }): Schedule | null {
  const patterns = readPatterns(reader)
  const place = patterns === null ? null : readPlace(reader, options)
  if (patterns === null || place === null) return null
  const triggers = patterns.map((pattern) => triggerOf(pattern, place))
  const [only] = triggers
  return triggers.length === 1 && only !== undefined ? only : { type: 'several', triggers }
}

function readPatterns(reader: Reader): CronFields[] | null {
  const stepping = reader.attempt(() => readStepping(reader))
  if (stepping !== null) return [stepping]
  return (
    reader.attempt(() => readDaysThenTimes(reader)) ??
    reader.quietly(() => reader.attempt(() => readTimesThenDays(reader)))
  )
}

/** "every weekday at 9:00", "last day of the month at 18:00", "daily at 9am". */
function readDaysThenTimes(reader: Reader): CronFields[] | null {
  const most = reader.quietly(() => reader.attempt(() => readMostDays(reader)))
  if (most !== null) {
    const times = readTimesOrMidnight(reader)
    return times === null ? null : patternsOf(most, times)
  }
  if (reader.attempt(() => (readEveryDay(reader) ? true : null)) !== null) {
    const times = readTimes(reader)
    return times === null ? null : patternsOf(ANY_DAY, times)
  }
  const days = readDays(reader)
  const times = days === null ? null : readTimesOrMidnight(reader)
  return days === null || times === null ? null : patternsOf(days, times)
}

/** "at 9am on weekdays", "at noon every day". */
function readTimesThenDays(reader: Reader): CronFields[] | null {
  const times = readTimes(reader)
  if (times === null) return null
  const days = readEveryDay(reader) ? ANY_DAY : readDays(reader)
  return days === null ? null : patternsOf(days, times)
}

/** "every day except sunday". */
function readMostDays(reader: Reader): Days | null {
  if (!readEveryDay(reader) || reader.oneOf(['except on', 'except', 'but'], '') === null) return null
  return readWeekdaysExcept(reader)
}

/** "every day", which requires a time: without one it is a fixed rate, counted from the creation of the task. */
function readEveryDay(reader: Reader): boolean {
  if (reader.words('every day')) return true
  const others = ['each day', 'everyday', 'every night', 'every morning', 'every evening', 'nightly']
  if (reader.quietly(() => others.some((words) => reader.words(words)))) return true
  return reader.quietly(
    () => reader.attempt(() => (reader.words('daily') && reader.sees('at') ? true : null)) === true,
  )
}

function readDays(reader: Reader): Days | null {
  return (
    reader.attempt(() => readAdverb(reader)) ??
    reader.attempt(() => (reader.words('every year on') ? readYearly(reader) : null)) ??
    reader.quietly(() => reader.attempt(() => readEveryFewMonths(reader))) ??
    reader.attempt(() => (readEach(reader) ? readWeekdays(reader) : null)) ??
    reader.quietly(() => reader.attempt(() => (readEach(reader) ? readMonthly(reader) : null))) ??
    reader.quietly(() => reader.attempt(() => (readEach(reader) ? readYearly(reader) : null))) ??
    reader.attempt(() => {
      reader.words('on')
      return reader.attempt(() => readMonthly(reader)) ?? reader.attempt(() => readRepeatedWeekdays(reader))
    })
  )
}

const readEach = (reader: Reader): boolean =>
  reader.words('every') || reader.quietly(() => reader.words('each'))

const PERIODS = [
  { words: ['daily', 'once a day'], days: ANY_DAY, read: null },
  {
    words: ['weekly', 'every week', 'once a week'],
    days: { ...ANY_DAY, weekday: 'SUN' },
    read: readWeekdays,
  },
  {
    words: ['monthly', 'every month', 'each month', 'once a month'],
    days: { ...ANY_DAY, day: '1' },
    read: readDayWithinMonth,
  },
  {
    words: ['yearly', 'annually', 'every year', 'once a year'],
    days: { day: '1', month: '1', weekday: '*' },
    read: readYearly,
  },
] as const

/** "daily", "weekly on monday", "monthly on the 15th". Without days or times they have the meaning of the cron aliases. */
function readAdverb(reader: Reader): Days | null {
  for (const { words, days, read } of PERIODS) {
    const found = reader.quietly(() => words.find((phrase) => reader.words(phrase)))
    if (found === undefined) continue
    if (read !== null && reader.words('on')) return read(reader)
    // "every week" alone is a fixed rate, counted from the creation of the task.
    return found === 'every week' ? null : days
  }
  return null
}

/** "every 3 months on the 1st": counted from January. The number of months must divide the year. */
function readEveryFewMonths(reader: Reader): Days | null {
  const count = reader.words('every') ? readNumber(reader, 2, 6, 'a number of months') : null
  if (count === null || 12 % count !== 0 || !reader.words('months')) return null
  const days = reader.words('on') ? readDayWithinMonth(reader) : { ...ANY_DAY, day: '1' }
  return days === null ? null : { ...days, month: `*/${count}` }
}

/**
 * Returns one pattern for each distinct minute and second of the times, because a cron pattern combines its minutes with all of
 * its hours.
 */
function patternsOf(days: Days, times: readonly Time[]): CronFields[] {
  const hoursByMinute = new Map<string, Set<number>>()
  for (const { hour, minute, second } of times) {
    const key = `${second} ${minute}`
    hoursByMinute.set(key, (hoursByMinute.get(key) ?? new Set()).add(hour))
  }
  return [...hoursByMinute].map(([key, hours]) => {
    const [second = '0', minute = '0'] = key.split(' ')
    return { second, minute, hour: [...hours].sort((a, b) => a - b).join(','), ...days }
  })
}

function triggerOf(pattern: CronFields, place: Place): Trigger {
  const { second, minute, hour, day, month, weekday } = pattern
  if (isDaily(pattern)) return { type: 'daily', hour: Number(hour), minute: Number(minute), ...place }
  const fields = [minute, hour, day, month, weekday]
  return { type: 'cron', expression: (second === '0' ? fields : [second, ...fields]).join(' '), ...place }
}

const isDaily = ({ second, minute, hour, day, month, weekday }: CronFields): boolean =>
  second === '0' &&
  /^\d+$/.test(minute) &&
  /^\d+$/.test(hour) &&
  [day, month, weekday].every((text) => text === '*')
