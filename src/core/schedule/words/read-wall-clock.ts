import type { CronFields } from '../cron-fields.ts'
import type { Schedule } from '../schedule.ts'
import { ANY_DAY, readMonthly, readWeekdays, readYearly } from './read-days.ts'
import { readPlace } from './read-place.ts'
import { readStepping } from './read-steps.ts'
import { readList, readTime } from './read-values.ts'
import type { Reader } from './reader.ts'

/** Everything that is a pattern on the wall clock of a zone. */
export function readWallClock(reader: Reader, options: { readonly timezone?: string }): Schedule | null {
  const pattern = readStepping(reader) ?? reader.attempt(() => readDaysAndTimes(reader))
  const place = pattern === null ? null : readPlace(reader, options)
  if (pattern === null || place === null) return null
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

/** "every weekday at 9:00", "last day of the month at 18:00". */
function readDaysAndTimes(reader: Reader): CronFields | null {
  const days =
    reader.attempt(() => (reader.words('every year on') ? readYearly(reader) : null)) ??
    reader.attempt(() => (reader.words('every day') ? ANY_DAY : null)) ??
    reader.attempt(() => (reader.words('every') ? readWeekdays(reader, false) : null)) ??
    reader.attempt(() => {
      reader.words('on')
      return readMonthly(reader)
    })
  if (days === null) return null
  reader.words('at')
  const times = readList(reader, readTime, 24, 'times')
  const [first] = times ?? []
  if (times === null || first === undefined) return null
  const { minute, second } = first
  if (times.some((time) => time.minute !== minute || time.second !== second))
    return reader.miss('times with the same minutes; join others with ";"')
  const hours = [...new Set(times.map(({ hour }) => hour))].sort((a, b) => a - b)
  return { second: String(second), minute: String(minute), hour: hours.join(','), ...days }
}
