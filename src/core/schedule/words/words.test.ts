import { CronPattern } from 'croner'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, parseDuration } from '../../values/duration.ts'
import { checkCron } from '../cron-fields.ts'
import { parseDate } from '../dates.ts'
import { describeSchedule } from '../describe.ts'
import type { Schedule } from '../schedule.ts'
import { validateSchedule } from '../validate-schedule.ts'
import { parseWords } from './parse-words.ts'

const now = Date.UTC(2026, 10, 16, 9)
const meaning = (text: string) => {
  const parsed = parseWords(text, { now })
  return parsed.ok ? parsed.schedule : parsed.reason
}
const cron = (expression: string, timezone = 'UTC'): Schedule => ({ type: 'cron', expression, timezone })

test.each<[string, Schedule]>([
  ['every weekday at 9:00', cron('0 9 * * MON-FRI')],
  ['Every weekday at 9:00 in Europe/Vienna', cron('0 9 * * MON-FRI', 'Europe/Vienna')],
  ['every weekday at 9am Europe/Vienna', cron('0 9 * * MON-FRI', 'Europe/Vienna')],
  ['last day of the month 18:00', cron('0 18 L * *')],
  ['on the last day of the month at 18:00 (Asia/Tokyo)', cron('0 18 L * *', 'Asia/Tokyo')],
  ['every 15 minutes between 8 and 18', cron('*/15 8-17 * * *')],
  ['every 15 minutes between 8:00 and 18:00, on weekdays', cron('*/15 8-17 * * MON-FRI')],
  ['every 15 minutes between 22 and 6', cron('*/15 22-23,0-5 * * *')],
  ['every hour between 8 and 18', cron('0 8-17 * * *')],
  ['every 2 hours between 8 and 18 on mondays and fridays', cron('0 8-17/2 * * MON,FRI')],
  ['every 5 minutes by the clock', cron('*/5 * * * *')],
  ['every hour at minute 5', cron('5 * * * *')],
  ['every hour at minutes 0, 20 and 40', cron('0,20,40 * * * *')],
  ['every 2 hours', { type: 'every', interval: '2h' }],
  ['every hour', { type: 'every', interval: '1h' }],
  ['every 1 hour 30 minutes', { type: 'every', interval: '1h30m' }],
  ['every 90s', { type: 'every', interval: '1m30s' }],
  [
    'every 2 days, counted from 2027-01-01T00:00:00Z',
    { type: 'every', interval: '2d', anchor: '2027-01-01T00:00:00Z' },
  ],
  ['10 seconds after the previous run has ended', { type: 'delay', interval: '10s' }],
  ['only when triggered', { type: 'manual' }],
  ['every day at 9:30', { type: 'daily', hour: 9, minute: 30, timezone: 'UTC' }],
  [
    'every day at 2:30 (Europe/Berlin, gap skip, fold both)',
    { type: 'daily', hour: 2, minute: 30, timezone: 'Europe/Berlin', gap: 'skip', fold: 'both' },
  ],
  ['every day at 9:00, 12:00 and 17:00', cron('0 9,12,17 * * *')],
  ['every day at 9:00:30', cron('30 0 9 * * *')],
  ['every monday at noon', cron('0 12 * * MON')],
  ['every Monday, Wednesday, and Friday at midnight', cron('0 0 * * MON,WED,FRI')],
  ['first monday of the month at 10:00', cron('0 10 * * MON#1')],
  ['on the last friday of the month at 5:30pm', cron('30 17 * * FRIL')],
  ['on the last weekday of the month at 9:00', cron('0 9 LW * *')],
  ['on the weekday nearest day 15 of the month at 9:00', cron('0 9 15W * *')],
  ['on days 1 and 15 of the month at 9:00', cron('0 9 1,15 * *')],
  ['every year on 24 December at 18:00', cron('0 18 24 12 *')],
  [
    'on 2026-12-24 at 18:00 Europe/Vienna',
    { type: 'dates', dates: ['2026-12-24T18:00'], timezone: 'Europe/Vienna' },
  ],
  [
    'on 2026-12-24 at 18:00, 2026-12-25T09:00:00+01:00 and 2026-12-31 at 23:59:59',
    {
      type: 'dates',
      dates: ['2026-12-24T18:00', '2026-12-25T09:00:00+01:00', '2026-12-31T23:59:59'],
      timezone: 'UTC',
    },
  ],
  ['once at 2026-12-24T18:00:00Z', { type: 'once', at: '2026-12-24T18:00:00Z' }],
  ['*/5 9-17 * * MON-FRI (Europe/Vienna)', cron('*/5 9-17 * * MON-FRI', 'Europe/Vienna')],
  ['@daily', cron('@daily')],
  ['H(0-29) H/2 * * THU (Asia/Tokyo)', cron('H(0-29) H/2 * * THU', 'Asia/Tokyo')],
  ['10 hours after the previous run has ended', { type: 'delay', interval: '10h' }],
  ['in 10 minutes', { type: 'once', at: '2026-11-16T09:10:00.000Z' }],
  [
    'every weekday at 9:00; every saturday at 10:00 (Europe/Vienna)',
    {
      type: 'several',
      triggers: [
        { type: 'cron', expression: '0 9 * * MON-FRI', timezone: 'UTC' },
        { type: 'cron', expression: '0 10 * * SAT', timezone: 'Europe/Vienna' },
      ],
    },
  ],
])('%s', (text, schedule) => {
  expect(meaning(text)).toEqual(schedule)
})

const daily = (hour: number, minute = 0, timezone = 'UTC'): Schedule => ({
  type: 'daily',
  hour,
  minute,
  timezone,
})
const on = (date: string, timezone = 'UTC'): Schedule => ({ type: 'dates', dates: [date], timezone })
const every = (interval: string): Schedule => ({ type: 'every', interval })

/** How people write it. */
test.each<[string, Schedule]>([
  ['daily at 9am', daily(9)],
  ['daily', daily(0)],
  ['once a day at 9', daily(9)],
  ['each day at 9', daily(9)],
  ['at noon every day', daily(12)],
  ['every night at 2', daily(2)],
  ["every day at 9 o'clock", daily(9)],
  ['every day at 9 in New York', daily(9, 0, 'America/New_York')],
  ['every day at 9:00 (tokyo)', daily(9, 0, 'Asia/Tokyo')],
  ['every day at 9:00 Kolkata time', daily(9, 0, 'Asia/Kolkata')],
  ['every day at 9:00 and 17:30', { type: 'several', triggers: [daily(9), daily(17, 30)] as never }],
  ['every day except sunday at 9', cron('0 9 * * MON,TUE,WED,THU,FRI,SAT')],
  ['weekdays at noon', cron('0 12 * * MON-FRI')],
  ['on weekdays at 9:00', cron('0 9 * * MON-FRI')],
  ['9am on weekdays', cron('0 9 * * MON-FRI')],
  ['every weekday', cron('0 0 * * MON-FRI')],
  ['monday to friday at 9:00', cron('0 9 * * MON-FRI')],
  ['mon-fri at 9', cron('0 9 * * MON-FRI')],
  ['mondays at 9', cron('0 9 * * MON')],
  ['every mon at 9:00', cron('0 9 * * MON')],
  ['mon, wed and fri at 8:30', cron('30 8 * * MON,WED,FRI')],
  ['friday to monday at 8:00', cron('0 8 * * MON,FRI,SAT,SUN')],
  ['weekends at 10', cron('0 10 * * SAT,SUN')],
  ['hourly', cron('0 * * * *')],
  ['every hour on the hour', cron('0 * * * *')],
  ['every hour at :15', cron('15 * * * *')],
  ['every hour at 15 minutes past the hour', cron('15 * * * *')],
  ['every hour from 9 to 17', cron('0 9-16 * * *')],
  ['every 5 minutes from 9am to 5pm mon-fri', cron('*/5 9-16 * * MON-FRI')],
  ['weekdays every 15 minutes between 9 and 17', cron('*/15 9-16 * * MON-FRI')],
  ['every 10 minutes on weekdays', cron('*/10 * * * MON-FRI')],
  ['every 5 min', every('5m')],
  ['every 30 sec', every('30s')],
  ['every half hour', every('30m')],
  ['every other day', every('2d')],
  ['every 2 weeks', every('14d')],
  ['every week', every('7d')],
  ['weekly', cron('0 0 * * SUN')],
  ['weekly on monday at 9', cron('0 9 * * MON')],
  ['monthly', cron('0 0 1 * *')],
  ['monthly on the 15th at 9:00', cron('0 9 15 * *')],
  ['every 3 months on the 1st at 9:00', cron('0 9 1 */3 *')],
  ['first monday of the month', cron('0 0 * * MON#1')],
  ['first monday of every month at 10:00', cron('0 10 * * MON#1')],
  ['2nd tuesday of the month at 9am', cron('0 9 * * TUE#2')],
  ['on the 1st and 15th of every month at noon', cron('0 12 1,15 * *')],
  ['the first of the month at 9', cron('0 9 1 * *')],
  ['first weekday of the month at 9', cron('0 9 1W * *')],
  ['every last friday of the month at 5pm', cron('0 17 * * FRIL')],
  ['yearly', cron('0 0 1 1 *')],
  ['every year on December 24th at 6pm', cron('0 18 24 12 *')],
  ['tomorrow at 9:00', on('2026-11-17T09:00')],
  ['tomorrow at 1:00 in Tokyo', on('2026-11-17T01:00', 'Asia/Tokyo')],
  ['today at 17:00', on('2026-11-16T17:00')],
  ['next monday at 9', on('2026-11-23T09:00')],
  ['next tue at 9', on('2026-11-17T09:00')],
  ['2026-12-24 18:00', on('2026-12-24T18:00')],
  ['2026-12-24T18:00 in Tokyo', on('2026-12-24T18:00', 'Asia/Tokyo')],
  ['December 24, 2026 at 6pm', on('2026-12-24T18:00')],
  ['on 24 Dec 2026 at 18:00', on('2026-12-24T18:00')],
  ['2026-12-24T18:00:00Z', { type: 'once', at: '2026-12-24T18:00:00Z' }],
  ['in an hour', { type: 'once', at: '2026-11-16T10:00:00.000Z' }],
  ['half an hour from now', { type: 'once', at: '2026-11-16T09:30:00.000Z' }],
  ['now', { type: 'once', at: '2026-11-16T09:00:00.000Z' }],
  ['30s after each run', { type: 'delay', interval: '30s' }],
  ['on demand', { type: 'manual' }],
])('%s', (text, schedule) => {
  expect(meaning(text)).toEqual(schedule)
})

test('tomorrow is the day after the day that the zone has now', () => {
  const lateInTokyo = { now: Date.UTC(2026, 10, 16, 20), timezone: 'Asia/Tokyo' }

  expect(parseWords('tomorrow at 9:00', lateInTokyo)).toEqual({
    ok: true,
    schedule: on('2026-11-18T09:00', 'Asia/Tokyo'),
  })
})

test.each([
  ['evry day at 9', 'every day at 9'],
  ['every wekday at 9:00', 'every weekday at 9:00'],
  ['monday at 9:00', 'every monday at 9:00'],
  ['every day at 09h00', 'every day at 9:00'],
  ['at 9', 'daily at 9:00'],
  ['twice a day', 'every day at 9:00'],
  ['every 7 minutes between 8 and 18', 'every 15 minutes between 8 and 18'],
])('%j is answered with the nearest form, %j', (text, form) => {
  expect(meaning(text)).toContain(`The closest supported form is "${form}"`)
})

test('a single day without every is refused as ambiguous', () => {
  expect(meaning('monday at 9:00')).toContain(
    'expected "to" and another day, or "and", or "every" before a single day',
  )
})

test('wall-clock times without a zone use the requested time zone', () => {
  const parsed = parseWords('every weekday at 9:00', { now, timezone: 'Europe/Vienna' })

  expect(parsed).toEqual({ ok: true, schedule: cron('0 9 * * MON-FRI', 'Europe/Vienna') })
})

test.each([
  ['someday', /^is not understood: "someday" is not recognised\. The closest supported form is/],
  ['tomorrow', /^is not understood after "tomorrow": the text ends \(character 9\); expected "at"/],
  ['', /^is not understood: the text ends\. The closest supported form is "daily at 9:00"/],
  [
    'every weekday at nine',
    /^is not understood after "every weekday at": "nine" is not recognised \(character 18\); expected .*a time such as 9:00/,
  ],
  [
    'every wekday at 9:00',
    /"wekday at 9:00" is not recognised .*expected .*"weekday" or a day such as Monday/,
  ],
  ['every weekday at 25:00', /"25:00" is not recognised .*a time such as 9:00, from 0:00 to 23:59/],
  [
    'every weekday at 9:00 in Europe/Atlantis',
    /"Europe\/Atlantis" is not recognised .*a time zone that is known/,
  ],
  ['every weekday at 9:00 please', /"please" is not recognised .*a time zone/],
  ['every 7 minutes between 8 and 18', /a number of minutes that divides 60/],
  ['every 15 minutes between 8 and 8', /another hour than the first/],
  ['every 15 minutes between 8:30 and 18', /a whole hour from 0 to 23/],
  ['0 9 30 2 *', /^is understood, but expression never matches/],
  ['0 25 * * *', /^is understood, but expression field 2 \(hour\) is 25; allowed 0–23 or H/],
  ['* * *', /^is understood, but expression has 3 fields/],
  ['every year on 30 February at 9:00', /^is understood, but expression never matches/],
  ['every 5 milliseconds', /^is understood, but interval is 5ms; allowed 10ms/],
  [
    'only when triggered; every hour',
    /^is understood, but triggers\/0\/type is manual, which is not needed here/,
  ],
  ['on 2026-02-30 at 9:00', /^is understood, but dates\/0 names a day that does not exist/],
  [`every ${'9'.repeat(3_000)}`, /^is 3006 characters long; the maximum is 2000$/],
])('%j is refused with the position and the expected input', (text, reason) => {
  expect(meaning(text)).toMatch(reason)
})

/** What decides when a schedule is due, whichever way it was written. */
function essence(schedule: Schedule): unknown {
  switch (schedule.type) {
    case 'once':
    case 'manual':
      return schedule
    case 'every':
    case 'delay': {
      const parsed = parseDuration(schedule.interval)
      return { ...schedule, interval: parsed.ok && formatDuration(parsed.ms) }
    }
    case 'daily': {
      const { hour, minute, type: _, ...place } = schedule
      return essence({ type: 'cron', expression: `${minute} ${hour} * * *`, ...place })
    }
    case 'cron': {
      const checked = checkCron(schedule.expression)
      if (!checked.ok) throw new Error(schedule.expression)
      const { second, minute, hour, day, month, weekday } = checked.fields
      const pattern = new CronPattern([second, minute, hour, day, month, weekday].join(' '))
      const { timezone, gap, fold } = schedule
      const isFixed = !/[*?/]/.test(second + minute + hour)
      const { day: days, month: months, dayOfWeek, nearestWeekdays, lastDayOfMonth, lastWeekday } = pattern
      const byDay = { days, months, dayOfWeek, nearestWeekdays, lastDayOfMonth, lastWeekday }
      const byTime = { second: pattern.second, minute: pattern.minute, hour: pattern.hour }
      // All seven days are any day, as long as the day of the month is free too.
      const isAnyDay = pattern.starDOW || (pattern.starDOM && dayOfWeek.every((weeks) => weeks === 63))
      return { ...byDay, ...byTime, stars: [pattern.starDOM, isAnyDay], isFixed, timezone, gap, fold }
    }
    case 'dates':
      return { ...schedule, dates: schedule.dates.map(parseDate) }
    case 'several':
      return schedule.triggers.map(essence)
  }
}

const field = (max: number, min = 0) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min, max }).map(String),
    fc
      .uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 4 })
      .map((values) => values.join(',')),
    fc
      .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
      .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.integer({ min: 1, max: 12 }).map((step) => `*/${step}`),
    fc
      .tuple(fc.integer({ min, max: max - 2 }), fc.integer({ min: 1, max: 6 }))
      .map(([from, step]) => `${from}-${max}/${step}`),
  )
const dayField = fc.oneof(field(31, 1), fc.constantFrom('*', '?', 'L', 'LW', '15W', '1W,L', '1,15'))
const weekdayField = fc.oneof(
  field(7),
  fc.constantFrom(
    '*',
    '*',
    '?',
    'MON-FRI',
    '1-5',
    'sat,SUN',
    'MON#1',
    '5L',
    'FRIL',
    '0',
    '7',
    'SAT-SUN',
    'MON-TUE#2',
  ),
)
const monthField = fc.oneof(
  { weight: 4, arbitrary: fc.constant('*') },
  { weight: 1, arbitrary: field(12, 1) },
)
const second = fc.constantFrom('0', '0', '0', '30', '*/10', '*')
const place = fc.record(
  {
    timezone: fc.constantFrom('UTC', 'Europe/Vienna', 'America/Argentina/Buenos_Aires', 'Etc/GMT+2'),
    gap: fc.constantFrom('next' as const, 'skip' as const),
    fold: fc.constantFrom('first' as const, 'last' as const, 'both' as const),
  },
  { requiredKeys: ['timezone'] },
)
const cronSchedule = fc
  .tuple(second, field(59), field(23), dayField, monthField, weekdayField, place)
  .map(([s, minute, hour, day, month, weekday, rest]) => {
    const fields = [minute, hour, day, month, weekday]
    return { type: 'cron' as const, expression: (s === '0' ? fields : [s, ...fields]).join(' '), ...rest }
  })
const instant = fc.integer({ min: now, max: now + 1e11 }).map((ms) => new Date(ms).toISOString())
const wall = instant.chain((at) => fc.constantFrom(at.slice(0, 16), at.slice(0, 19)))
const interval = fc.integer({ min: 10, max: 1e9 }).map((ms) => formatDuration(ms))
const trigger = fc.oneof(
  { weight: 6, arbitrary: cronSchedule },
  fc
    .tuple(fc.nat({ max: 23 }), fc.nat({ max: 59 }), place)
    .map(([hour, minute, rest]) => ({ type: 'daily' as const, hour, minute, ...rest })),
  fc.record({ type: fc.constant('once' as const), at: instant }),
  fc.record(
    { type: fc.constant('every' as const), interval, anchor: instant },
    { requiredKeys: ['type', 'interval'] },
  ),
  fc
    .tuple(fc.array(fc.oneof(wall, instant), { minLength: 1, maxLength: 12 }), place)
    .map(([dates, rest]) => ({ type: 'dates' as const, dates, ...rest })),
)
const schedule: fc.Arbitrary<Schedule> = fc
  .oneof(
    { weight: 12, arbitrary: trigger as fc.Arbitrary<Schedule> },
    fc.record({ type: fc.constant('delay' as const), interval }),
    fc.constant({ type: 'manual' as const }),
    fc
      .array(trigger, { minLength: 2, maxLength: 3 })
      .map((triggers) => ({ type: 'several' as const, triggers }) as Schedule),
  )
  .filter((candidate) => validateSchedule(candidate).ok)

test('a description that can be parsed gives the original schedule', () => {
  let read = 0
  fc.assert(
    fc.property(schedule, (original) => {
      const sentence = describeSchedule(original)
      const parsed = parseWords(sentence, { now })
      if (!parsed.ok) return
      read += 1
      expect(essence(parsed.schedule), sentence).toEqual(essence(original))
    }),
    { numRuns: 1_500 },
  )
  expect(read).toBeGreaterThan(300)
})

/** Every sentence of the grammar, drawn form by form. */
const hour = fc.nat({ max: 23 })
const time = fc.tuple(hour, fc.nat({ max: 59 })).map(([h, m]) => `${h}:${String(m).padStart(2, '0')}`)
const weekdays = fc.subarray(['monday', 'tuesday', 'Wednesday', 'thursday', 'friday', 'saturday', 'sunday'], {
  minLength: 1,
  maxLength: 6,
})
const monthly = fc.constantFrom(
  'the last day',
  'last weekday',
  'the weekday nearest day 9',
  'day 31',
  'days 1, 2 and 9',
  'the third friday',
  'first day',
)
const steps = fc.constantFrom('minute', '15 minutes', 'hour', '2 hours', '30 seconds', 'second')
const stretch = fc.oneof(
  fc.constant('by the clock'),
  fc
    .tuple(hour, fc.integer({ min: 1, max: 24 }))
    .filter(([a, b]) => a < b && b - a < 24)
    .map(([a, b]) => `between ${a} and ${b}`),
)
const onDays = fc.oneof(
  fc.constantFrom('', ' on weekdays'),
  weekdays.map((days) => ` on ${days.map((day) => `${day}s`).join(' and ')}`),
  monthly.map((day) => `, on ${day} of the month`),
)
const sentence = fc
  .tuple(
    fc.oneof(
      interval.map((text) => `every ${text}`),
      fc.tuple(steps, stretch, onDays).map(([every, when, days]) => `every ${every} ${when}${days}`),
      time.map((at) => `every day at ${at}`),
      fc.tuple(weekdays, time).map(([days, at]) => `every ${days.join(', ')} ${at}`),
      fc.tuple(monthly, time).map(([days, at]) => `${days} of the month at ${at}`),
      fc
        .tuple(fc.integer({ min: 1, max: 28 }), time)
        .map(([day, at]) => `every year on ${day} february at ${at}`),
      fc.tuple(fc.nat({ max: 59 }), onDays).map(([minute, days]) => `every hour at minute ${minute}${days}`),
      wall.map((at) => `on ${at.replace('T', ' at ')}`),
    ),
    fc.constantFrom('', ' (Europe/Vienna)', ' in Asia/Tokyo'),
  )
  .map(([text, zone]) => (/^every \d+[a-z]/.test(text) ? text : text + zone))

test('every sentence of the grammar is described in words with the same meaning', () => {
  fc.assert(
    fc.property(sentence, (text) => {
      const first = parseWords(text, { now })
      if (!first.ok) throw new Error(`${text}: ${first.reason}`)
      const said = describeSchedule(first.schedule)
      const second = parseWords(said, { now })
      if (!second.ok) throw new Error(`${said}: ${second.reason}`)
      expect(essence(second.schedule), `${text} → ${said}`).toEqual(essence(first.schedule))
    }),
    { numRuns: 1_000 },
  )
})

test('any text is answered, and quickly', () => {
  const words =
    'every on in at and between 9 9:00 ( ) , ; weekday month of the last day UTC 2026-01-01'.split(' ')
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((list) => list.join(' ')),
  )
  fc.assert(
    fc.property(text, (any) => {
      const parsed = parseWords(any, { now })
      if (!parsed.ok) expect(parsed.reason.length).toBeLessThan(1_500)
    }),
    { numRuns: 1_000 },
  )
})
