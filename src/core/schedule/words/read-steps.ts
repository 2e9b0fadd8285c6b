/** Steps by the clock: every so many seconds, minutes or hours, all day or between two hours. */
import type { CronFields } from '../cron-fields.ts'
import { ANY_DAY, readMonthly, readWeekdays } from './read-days.ts'
import { readList, readNumber, toHour } from './read-values.ts'
import type { Reader } from './reader.ts'

/** "every 15 minutes between 8 and 18", "every 2 hours by the clock", "every hour at minute 5". */
export function readStepping(reader: Reader): CronFields | null {
  return (
    reader.attempt(() => {
      if (!reader.words('every hour at')) return null
      if (reader.oneOf(['minutes', 'minute'], '"minute" and 0 to 59') === null) return null
      const minutes = readList(reader, (r) => readNumber(r, 0, 59, 'a minute'), 60, 'minutes')
      if (minutes === null) return null
      return withDays(reader, { second: '0', minute: minutes.join(','), hour: '*' })
    }) ??
    reader.attempt(() => {
      if (!reader.words('every')) return null
      const steps = readSteps(reader)
      const times = steps === null ? null : readStretch(reader, steps)
      return times === null ? null : withDays(reader, times)
    })
  )
}

interface Steps {
  readonly count: number
  readonly unit: 'second' | 'minute' | 'hour'
}

/** A part of a minute, an hour or a day that leaves no remainder: else the last step would be shorter. */
function readSteps(reader: Reader): Steps | null {
  const count = reader.attempt(() => readNumber(reader, 1, 60, 'a number')) ?? 1
  const word = reader.oneOf(
    ['seconds', 'second', 'minutes', 'minute', 'hours', 'hour'],
    'seconds, minutes or hours',
  )
  if (word === null) return null
  const unit = word.replace(/s$/, '') as Steps['unit']
  const whole = unit === 'hour' ? 24 : 60
  return whole % count === 0 ? { count, unit } : reader.miss(`a number of ${unit}s that divides ${whole}`)
}

type Times = Pick<CronFields, 'second' | 'minute' | 'hour'>

function readStretch(reader: Reader, { count, unit }: Steps): Times | null {
  const step = count === 1 ? '*' : `*/${count}`
  if (reader.words('by the clock')) {
    if (unit === 'second') return { second: step, minute: '*', hour: '*' }
    return unit === 'minute'
      ? { second: '0', minute: step, hour: '*' }
      : { second: '0', minute: '0', hour: step }
  }
  if (!reader.words('between')) return null
  const from = readHour(reader, 23)
  if (from === null || !reader.words('and')) return null
  const to = readHour(reader, 24)
  if (to === null) return null
  if (to % 24 === from) return reader.miss('another hour than the first')
  if (unit === 'second') return { second: step, minute: '*', hour: hoursBetween(from, to) }
  if (unit === 'minute') return { second: '0', minute: step, hour: hoursBetween(from, to) }
  if (count === 1) return { second: '0', minute: '0', hour: hoursBetween(from, to) }
  // Steps over midnight would begin again at it.
  if (to < from) return reader.miss('an hour later than the first')
  return { second: '0', minute: '0', hour: `${from}-${to - 1}/${count}` }
}

/** The hours from one up to another, which is not among them; over midnight as well. */
function hoursBetween(from: number, to: number): string {
  const range = (low: number, high: number) => (low === high ? `${low}` : `${low}-${high}`)
  if (from < to) return range(from, to - 1)
  return to === 0 ? range(from, 23) : `${range(from, 23)},${range(0, to - 1)}`
}

function readHour(reader: Reader, max: number): number | null {
  const expectation = `a whole hour from 0 to ${max}`
  const match = reader.take(/(\d{1,2})(?::00)?(?:\s*(am|pm))?(?![\w:])/iy, expectation)
  if (match === null) return null
  const hour = toHour(Number(match[1]), match[2])
  return hour !== null && hour <= max ? hour : reader.miss(expectation)
}

/** The rest of a stepping pattern: on which days, if not on all. */
function withDays(reader: Reader, times: Times): CronFields | null {
  reader.take(/,/y, '","')
  const days = reader.attempt(() => {
    if (!reader.words('on')) return null
    return readMonthly(reader) ?? readWeekdays(reader, true)
  })
  return { ...times, ...(days ?? ANY_DAY) }
}
