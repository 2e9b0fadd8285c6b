import { expect, test, vi } from 'vitest'
import { CronStepper } from './cron-stepper.ts'
import { paceOf } from './pace.ts'
import type { Schedule, Trigger } from './schedule.ts'
import { validateSchedule } from './validate-schedule.ts'
import { Zone } from './zone.ts'

const cron = (expression: string, timezone = 'Europe/Berlin'): Schedule => ({
  type: 'cron',
  expression,
  timezone,
})

/** The problems as `pointer detail` lines. */
function problemsOf(schedule: Schedule): string[] {
  const check = validateSchedule(schedule)
  return check.ok ? [] : check.problems.map(({ pointer, detail }) => `${pointer} ${detail}`)
}

test.each([
  '* * * * *',
  '*/5 * * * *',
  '30 2,14 * * *',
  '0 0 9-17/2 * * MON-FRI',
  '0 9 1,15 JAN-mar sat-sun',
  '0 0 ? * MON#2',
  '0 0 L * ?',
  '0 0 LW * *',
  '0 0 3,LW * *',
  '0 0 1W,15W,L * *',
  '0 0 * * 5L,MON#1',
  '0 0 * * MON-FRI#2',
  '0 0 29 2 *',
  '0 0 ? FEB FRI#5',
  '  0   0 * * *  ',
  'H H(0-7) * * *',
  'H/15 * * * *',
  'H(0-29)/10,59 h * * THU',
  '0 0 30 H(3-12) *',
  '@yearly',
  '@ANNUALLY',
  '@monthly',
  '@weekly',
  '@daily',
  '@midnight',
  '@hourly',
])('cron %j is accepted', (expression) => {
  expect(problemsOf(cron(expression))).toEqual([])
})

test.each([
  ['0 25 * * *', 'field 2 (hour) is 25; allowed 0–23 or H'],
  ['0 0 25 * * *', 'field 3 (hour) is 25; allowed 0–23 or H'],
  ['0,61 * * * *', 'field 1 (minute) contains 61; allowed 0–59 or H'],
  ['0 22-2 * * *', 'field 2 (hour) is the backward range 22-2; write it as two, such as 22-23,0-2'],
  ['5/15 * * * *', 'field 1 (minute) is "5/15"; a step needs a range, write 5-59/15'],
  ['*/0 * * * *', 'field 1 (minute) is "*/0"; allowed steps are 1–60'],
  ['*/61 * * * *', 'field 1 (minute) is "*/61"; allowed steps are 1–60'],
  ['0,,5 * * * *', 'field 1 (minute) contains an empty item; remove the extra comma'],
  [
    'H(30-60) * * * *',
    'field 1 (minute) is "H(30-60)"; allowed are H, H(a-b) with 0 ≤ a ≤ b ≤ 59, and steps of both such as H/2',
  ],
  [
    '0 0 H(1-31) * *',
    'field 3 (day of month) is "H(1-31)"; allowed are H, H(a-b) with 1 ≤ a ≤ b ≤ 28, and steps of both such as H/2',
  ],
  ['0 H(0-7)/9 * * *', 'field 2 (hour) is "H(0-7)/9"; allowed steps are 1–8'],
  ['0 0 30 H *', 'never matches for some values of H: none of its months has such a day'],
  ['0 0 31 2,4 *', 'never matches: none of its months has such a day'],
  [
    '0 0 * * */2#1',
    'field 5 (day of week) is "*/2#1"; # and L follow a weekday or a range, not a star or step',
  ],
  ['0 0 31 2 *', 'never matches: none of its months has such a day'],
  ['0 0 31W 4,6 *', 'never matches: none of its months has such a day'],
  ['* * * * * * 2027', 'has 7 fields; a year field is not supported, use 5 or 6 fields'],
  ['* * *', 'has 3 fields; use 5, or 6 with seconds first'],
  ['', 'has 0 fields; use 5, or 6 with seconds first'],
])('cron %j is refused and the field named', (expression, detail) => {
  expect(problemsOf(cron(expression))).toEqual([`/expression ${detail}`])
})

test.each([
  '0 0 L-3 * *',
  '0 0 1L5 * *',
  '0 0 * * L',
  '0 0 * * MONDAY',
  '0 0 * * +MON',
  '0 0 * * MON#6',
  '0 0 0 * *',
  '0 0 * 13 *',
  '0 0 * * 8',
  '-5 * * * *',
  '1-2-3 * * * *',
  '1.5 * * * *',
  'MON * * * *',
  '*5 * * * *',
  '?/5 * * * *',
  '@every',
  '@reboot',
  '@daily 5 * * *',
  '* * * * *\u0000',
])('cron %j is refused', (expression) => {
  expect(validateSchedule(cron(expression)).ok).toBe(false)
})

test('every wrong field of an expression is named at once', () => {
  const problems = problemsOf(cron('60 24 0 13 8'))

  expect(problems).toHaveLength(5)
})

test.each([
  'UTC',
  'Europe/Kyiv',
  'Asia/Kolkata',
  'America/Argentina/Buenos_Aires',
  'europe/berlin',
  'Etc/GMT+2',
])('the zone %s is accepted', (timezone) => {
  expect(problemsOf(cron('* * * * *', timezone))).toEqual([])
})

test.each([
  ['', 'is empty; use an IANA name such as Europe/Berlin or UTC'],
  [
    '+02:00',
    'is a UTC offset, which has no daylight saving rules; use an IANA name such as Europe/Berlin or UTC',
  ],
  [
    '-5',
    'is a UTC offset, which has no daylight saving rules; use an IANA name such as Europe/Berlin or UTC',
  ],
  ['Europe/Atlantis', 'is not a known time zone; use an IANA name such as Europe/Berlin or UTC'],
])('the zone %j is refused', (timezone, detail) => {
  expect(problemsOf(cron('* * * * *', timezone))).toEqual([`/timezone ${detail}`])
})

test('daily needs an hour and a minute that exist', () => {
  const schedule: Schedule = { type: 'daily', hour: 24, minute: 1.5, timezone: 'UTC' }

  expect(problemsOf(schedule)).toEqual([
    '/hour is 24; allowed whole numbers 0–23',
    '/minute is 1.5; allowed whole numbers 0–59',
  ])
})

test('unknown daylight saving choices are refused', () => {
  const schedule = { type: 'daily', hour: 2, minute: 30, timezone: 'UTC', gap: 'before', fold: 'never' }

  expect(problemsOf(schedule as unknown as Schedule)).toEqual([
    '/gap is unknown; allowed next, skip',
    '/fold is unknown; allowed first, last, both',
  ])
})

test.each(['every', 'delay'] as const)('the interval of %s lies between 10 ms and ten years', (type) => {
  expect(problemsOf({ type, interval: '10ms' })).toEqual([])
  expect(problemsOf({ type, interval: '3650d' })).toEqual([])
  expect(problemsOf({ type, interval: '9ms' })).toEqual(['/interval is 9ms; allowed 10ms–3650d'])
  expect(problemsOf({ type, interval: '3651d' })).toEqual(['/interval is longer than the maximum 3650d'])
  expect(problemsOf({ type, interval: '5' })).toEqual([
    '/interval has no unit after 5; write "5s" for seconds',
  ])
})

test('triggers that cannot be combined are refused, each with its reason and pointer', () => {
  const triggers = [
    { type: 'delay', interval: '5s' },
    { type: 'manual' },
    { type: 'several', triggers: [] },
    { type: 'daily', hour: 24, minute: 0, timezone: 'UTC' },
  ]
  const schedule = { type: 'several', triggers } as unknown as Schedule
  const allowed = 'allowed once, every, cron, daily, dates'

  expect(problemsOf(schedule)).toEqual([
    `/triggers/0/type is delay, which counts from the end of each run and cannot be combined with other triggers; ${allowed}`,
    `/triggers/1/type is manual, which is not needed here: every task can be triggered; ${allowed}`,
    `/triggers/2/type is several, which cannot be nested; list all triggers in one list; ${allowed}`,
    '/triggers/3/hour is 24; allowed whole numbers 0–23',
  ])
  expect(problemsOf({ type: 'several', triggers: [] })).toEqual([
    '/triggers has 0 triggers; allowed are 1 to 20',
  ])
})

test('instants without an offset are refused', () => {
  const at = '2027-03-28T02:30:00'

  expect(problemsOf({ type: 'once', at })[0]).toMatch(/^\/at is not an instant; use an RFC 3339 timestamp/)
  expect(problemsOf({ type: 'every', interval: '1h', anchor: at })[0]).toMatch(/^\/anchor is not an instant/)
  expect(problemsOf({ type: 'manual' })).toEqual([])
})

const huge = 1_000_000
const leaps = Array.from({ length: 20 }, (_, i) => cron(`${i} 0 29 2 *`))
const inYears = Array.from({ length: 1_000 }, (_, i) => `${2030 + i}-06-01T09:00`)

/**
 * What is dear is counted rather than timed: a look at the clock changes of a year takes a third of a millisecond,
 * a step of a pattern less than a microsecond, and everything else is bounded by the length of the text.
 */
test.each<[string, Schedule]>([
  ['an endless list', cron('1,'.repeat(huge))],
  ['a list at the length limit', cron(`${'1,'.repeat(250)}1 * * * *`)],
  ['endless spaces', cron(' '.repeat(huge))],
  ['endless stars', cron('* '.repeat(huge))],
  ['an endless alias', cron(`@${'d'.repeat(huge)}`)],
  ['a day that never comes', cron('0 0 30,31 2 ?')],
  ['a day that hardly ever comes', cron('0 0 29 2 MON#5')],
  ['the fifth Sunday of February', cron('59 59 23 ? 2 SUN#5')],
  ['an hour that clocks always skip', { ...cron('30 2 * 3 SUNL'), gap: 'skip' } as Schedule],
  ['twenty leap days', { type: 'several', triggers: leaps as Trigger[] }],
  ['dates in a thousand years', { type: 'dates', dates: inYears, timezone: 'America/Havana' }],
  ['an endless zone', cron('* * * * *', 'x'.repeat(huge))],
  ['an endless interval', { type: 'every', interval: '9'.repeat(huge) }],
  ['an endless instant', { type: 'once', at: '2'.repeat(huge) }],
])('%s is answered with little work', (_name, schedule) => {
  const looks = vi.spyOn(Zone.prototype, 'segmentAt')
  const steps = vi.spyOn(CronStepper.prototype, 'next')

  const check = validateSchedule(schedule)
  const now = Date.UTC(2026, 10, 16)
  if (check.ok) paceOf({ schedule, startAt: null, endAt: null, anchorAt: now }, now)

  const years = new Set(looks.mock.calls.map(([instant]) => Math.floor(instant / (365 * 86_400_000))))
  const work = { years: years.size, steps: steps.mock.calls.length }
  vi.restoreAllMocks()
  expect(work.years).toBeLessThanOrEqual(12)
  expect(work.steps).toBeLessThanOrEqual(5_000)
})
