/**
 * Schedules written in words: a small, strict grammar. What it understands it understands in one way only, and
 * `describeSchedule` says every schedule that it can express in words that mean the same here again. What it
 * does not understand it refuses, with the place where it stopped and what would have gone on from there.
 *
 *     schedule  = sentence { ";" sentence }
 *     sentence  = "every" duration [ ", counted from" instant ]
 *               | "every" steps ( "between" hour "and" hour | "by the clock" ) [ "on" days ] [ zone ]
 *               | "every hour at minute(s)" minutes [ "on" days ] [ zone ]
 *               | ( "every" weekdays | [ "on the" ] days | "every year on" date ) [ "at" ] times [ zone ]
 *               | "on" dates [ zone ] | "once at" instant | "in" duration
 *               | cron expression [ "(" zone ")" ]
 *               | duration "after the previous run has ended" | "only when triggered"
 */
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../../duration.ts'
import type { CronFields } from '../cron-fields.ts'
import { parseInstant } from '../instant.ts'
import {
  type DatesSchedule,
  FOLD_POLICIES,
  GAP_POLICIES,
  type Schedule,
  type Trigger,
  validateSchedule,
} from '../schedule.ts'
import { zoneProblem } from '../zone.ts'
import { Reader } from './reader.ts'
import { MAX_DATES_IN_WORDS, MONTH_WORDS, ORDINAL_WORDS, UNIT_WORDS, WEEKDAY_WORDS } from './vocabulary.ts'

/** Twenty sentences of a line each. */
export const MAX_WORDS_LENGTH = 2_000

export type ParsedWords =
  | { readonly ok: true; readonly schedule: Schedule }
  | { readonly ok: false; readonly reason: string }

/** What words are read against. */
export interface WordsOptions {
  /** Epoch milliseconds, for "in 10 minutes". */
  readonly now: number
  /** The zone of wall times that name none. Default UTC. */
  readonly timezone?: string
}

const EXAMPLES =
  '"every weekday at 9:00", "every 15 minutes between 8 and 18", "last day of the month at 18:00", "every 2 hours", "on 2026-12-24 at 18:00", "in 10 minutes" or a cron expression'

export function parseWords(text: string, options: WordsOptions): ParsedWords {
  if (text.length > MAX_WORDS_LENGTH)
    return { ok: false, reason: `is ${text.length} characters long; allowed are ${MAX_WORDS_LENGTH}` }
  const reader = new Reader(text.replace(/[\t\r\n]/g, ' '))
  const schedule = readSchedule(reader, options)
  if (schedule === null || !reader.isAtEnd) return { ok: false, reason: refusal(reader) }
  const verdict = validateSchedule(schedule)
  if (verdict.ok) return { ok: true, schedule }
  const [problem] = verdict.problems
  return { ok: false, reason: `is understood, but ${problem?.pointer.slice(1)} ${problem?.detail}` }
}

function refusal(reader: Reader): string {
  const { at, expected } = reader.stop
  const understood = reader.text.slice(0, at).trim()
  const rest = reader.text.slice(at).trim()
  const found =
    rest === '' ? 'the text ends' : `"${rest.length > 30 ? `${rest.slice(0, 30)}…` : rest}" is not understood`
  if (understood === '') return `cannot be read: ${found}; write for example ${EXAMPLES}`
  const shown = understood.length > 60 ? `…${understood.slice(-60)}` : understood
  return `cannot be read on after "${shown}": ${found} (character ${at + 1}); expected ${expected.join(', or ')}`
}

function readSchedule(reader: Reader, options: WordsOptions): Schedule | null {
  const first = readSentence(reader, options)
  if (first === null) return null
  if (reader.isAtEnd || reader.take(/;/y, '";" and another schedule') === null) return first
  const triggers = [first]
  do {
    const next = readSentence(reader, options)
    if (next === null) return null
    triggers.push(next)
  } while (!reader.isAtEnd && reader.take(/;/y, '";" and another schedule') !== null)
  // What cannot be joined is found by the validation that follows, which says why.
  return { type: 'several', triggers: triggers as Trigger[] }
}

function readSentence(reader: Reader, options: WordsOptions): Schedule | null {
  const forms = [readCron, readManual, readDelay, readIn, readOnce, readDates, readWallClock, readEvery]
  for (const form of forms) {
    const schedule = reader.attempt(() => form(reader, options))
    if (schedule !== null) return schedule
  }
  return null
}

/** An alias, or fields of which the first two are figures and signs: no sentence begins like that. */
const CRON = /@\w+|(?=\S+\s+[\d*?h][\d*?,/()h-]*(?:\s|$))[\d*?h][\d*?,/()h-]*(?:\s+[\w*?][\w*?,#/()-]*)*/iy

/** A cron expression as it is; what is wrong with it is for the validation to say. */
function readCron(reader: Reader, options: WordsOptions): Schedule | null {
  const match = reader.take(CRON, 'a cron expression such as 0 9 * * MON-FRI')
  const place = match === null ? null : readPlace(reader, options)
  return match === null || place === null ? null : { type: 'cron', expression: match[0], ...place }
}

const readManual = (reader: Reader): Schedule | null =>
  reader.words('only when triggered') ? { type: 'manual' } : null

function readDelay(reader: Reader): Schedule | null {
  const ms = readDuration(reader)
  if (ms === null || !reader.words('after the previous run has ended')) return null
  return { type: 'delay', interval: formatDuration(ms) }
}

function readIn(reader: Reader, { now }: WordsOptions): Schedule | null {
  if (!reader.words('in')) return null
  const ms = readDuration(reader)
  return ms === null ? null : { type: 'once', at: new Date(now + ms).toISOString() }
}

function readOnce(reader: Reader): Schedule | null {
  if (!reader.words('once')) return null
  reader.take(/,/y, '","')
  if (!reader.words('at')) return null
  const at = readInstant(reader)
  return at === null ? null : { type: 'once', at }
}

/** A fixed rate. It comes last: what says more than that is one of the other forms. */
function readEvery(reader: Reader): Schedule | null {
  if (!reader.words('every')) return null
  const ms = readDuration(reader) ?? readUnit(reader)
  if (ms === null) return null
  const interval = formatDuration(ms)
  if (reader.take(/,\s*counted\s+from(?!\w)/iy, '", counted from" and an instant') === null)
    return { type: 'every', interval }
  const anchor = readInstant(reader)
  return anchor === null ? null : { type: 'every', interval, anchor }
}

function readInstant(reader: Reader): string | null {
  const match = reader.take(
    /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)/iy,
    'an instant such as 2026-12-24T18:00:00Z',
  )
  return match !== null && parseInstant(match[0]).ok ? match[0] : null
}

const DURATION = 'a duration such as 15 minutes'

/** "1 hour 30 minutes", or as the other fields have it: "1h30m". */
function readDuration(reader: Reader): number | null {
  const compact = reader.take(/(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+(?![\w.])/y, DURATION)
  if (compact !== null) {
    const parsed = parseDuration(compact[0])
    return parsed.ok ? parsed.ms : reader.miss(DURATION)
  }
  let total: number | null = null
  for (;;) {
    const part = reader.attempt(() => {
      const count = reader.take(/\d{1,9}(?![\w.:-])/y, total === null ? DURATION : 'more of the duration')
      const unit = count === null ? null : readUnit(reader)
      return unit === null ? null : Number(count?.[0]) * unit
    })
    if (part === null) return total
    total = (total ?? 0) + part
    if (total > MAX_DURATION_MS) return reader.miss(`a duration up to ${formatDuration(MAX_DURATION_MS)}`)
  }
}

function readUnit(reader: Reader): number | null {
  const names = UNIT_WORDS.flatMap(([name]) => [`${name}s`, name])
  const word = reader.oneOf(names, 'a unit such as minutes')
  return word === null ? null : (UNIT_WORDS.find(([name]) => word.startsWith(name))?.[1] ?? null)
}

/** Dates written out, each a wall time or an instant. */
function readDates(reader: Reader, options: WordsOptions): Schedule | null {
  if (!reader.words('on')) return null
  const dates = readList(reader, readDate, MAX_DATES_IN_WORDS, 'dates')
  const place = dates === null ? null : readPlace(reader, options)
  return dates === null || place === null ? null : { type: 'dates', dates, ...place }
}

function readDate(reader: Reader): string | null {
  const instant = reader.attempt(() => readInstant(reader))
  if (instant !== null) return instant
  const day = reader.take(/\d{4}-\d\d-\d\d(?![\w-])/y, 'a date such as 2026-12-24')
  if (day === null) return null
  reader.words('at')
  const time = readTime(reader)
  if (time === null) return null
  const seconds = time.second === 0 ? '' : `:${two(time.second)}`
  return `${day[0]}T${two(time.hour)}:${two(time.minute)}${seconds}`
}

/** Everything that is a pattern on the wall clock of a zone. */
function readWallClock(reader: Reader, options: WordsOptions): Schedule | null {
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

type Days = Pick<CronFields, 'day' | 'month' | 'weekday'>
const ANY_DAY: Days = { day: '*', month: '*', weekday: '*' }

/** "every 15 minutes between 8 and 18", "every 2 hours by the clock", "every hour at minute 5". */
function readStepping(reader: Reader): CronFields | null {
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

function readYearly(reader: Reader): Days | null {
  const day = readNumber(reader, 1, 31, 'a day of the month')
  const month = day === null ? null : reader.oneOf(MONTH_WORDS, 'a month such as December')
  if (day === null || month === null) return null
  return { day: String(day), month: String(MONTH_WORDS.indexOf(month) + 1), weekday: '*' }
}

/** Days that are counted within the month. */
function readMonthly(reader: Reader): Days | null {
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
function readWeekdays(reader: Reader, isPlural: boolean): Days | null {
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

interface Time {
  readonly hour: number
  readonly minute: number
  readonly second: number
}

const TIME = 'a time such as 9:00'

function readTime(reader: Reader): Time | null {
  if (reader.words('noon')) return { hour: 12, minute: 0, second: 0 }
  if (reader.words('midnight')) return { hour: 0, minute: 0, second: 0 }
  return (
    reader.attempt(() => {
      const match = reader.take(/(\d{1,2})(?::(\d\d)(?::(\d\d))?)?(?:\s*(am|pm))?(?![\w:])/iy, TIME)
      if (match === null || (match[2] === undefined && match[4] === undefined)) return null
      const hour = toHour(Number(match[1]), match[4])
      const [minute, second] = [Number(match[2] ?? 0), Number(match[3] ?? 0)]
      return hour === null || hour > 23 || minute > 59 || second > 59 ? null : { hour, minute, second }
    }) ?? reader.miss(`${TIME}, 0:00 to 23:59`)
  )
}

/** The hour on a clock of 24, from one that may be told in two halves. */
function toHour(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour
  if (hour < 1 || hour > 12) return null
  return (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)
}

function readNumber(reader: Reader, min: number, max: number, what: string): number | null {
  const expectation = `${what} from ${min} to ${max}`
  return (
    reader.attempt(() => {
      const match = reader.take(/\d{1,2}(?![\w:.-])/y, expectation)
      const value = Number(match?.[0])
      return match === null || value < min || value > max ? null : value
    }) ?? reader.miss(expectation)
  )
}

/** "a", "a and b", "a, b and c". */
function readList<T>(
  reader: Reader,
  read: (reader: Reader) => T | null,
  max: number,
  what: string,
): T[] | null {
  const first = read(reader)
  if (first === null) return null
  const items = [first]
  for (;;) {
    const next = reader.attempt(() => {
      if (reader.take(/,\s*and(?!\w)|,|and(?!\w)/iy, '"and"') === null) return null
      return read(reader)
    })
    if (next === null) return items
    if (items.length === max) return reader.miss(`no more than ${max} ${what}`)
    items.push(next)
  }
}

type Place = Pick<DatesSchedule, 'timezone' | 'gap' | 'fold'>

/** The zone, in brackets with what to do about clock changes, or after "in", or by itself; all may be left out. */
function readPlace(reader: Reader, { timezone = 'UTC' }: WordsOptions): Place | null {
  const bracketed = reader.take(/\(/y, 'a time zone such as (Europe/Vienna)') !== null
  if (!bracketed) {
    const zone = reader.attempt(() => {
      reader.words('in')
      return readZone(reader)
    })
    return { timezone: zone ?? timezone }
  }
  const zone = readZone(reader)
  if (zone === null) return null
  const choices: { -readonly [K in 'gap' | 'fold']?: Place[K] } = {}
  while (reader.take(/,/y, '")" or ", gap" or ", fold"') !== null) {
    if (reader.words('gap')) {
      const gap = reader.oneOf(GAP_POLICIES, GAP_POLICIES.join(' or '))
      if (gap === null) return null
      choices.gap = gap as NonNullable<Place['gap']>
    } else {
      const fold = reader.words('fold') ? reader.oneOf(FOLD_POLICIES, FOLD_POLICIES.join(' or ')) : null
      if (fold === null) return null
      choices.fold = fold as NonNullable<Place['fold']>
    }
  }
  return reader.take(/\)/y, '")"') === null ? null : { timezone: zone, ...choices }
}

function readZone(reader: Reader): string | null {
  return (
    reader.attempt(() => {
      const match = reader.take(/[A-Za-z][A-Za-z0-9_+/-]*/y, 'a time zone such as Europe/Vienna')
      return match === null || zoneProblem(match[0]) !== null ? null : match[0]
    }) ?? reader.miss('a time zone that is known, such as Europe/Vienna')
  )
}

const two = (value: number): string => String(value).padStart(2, '0')
