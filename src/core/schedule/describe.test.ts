import { expect, test } from 'vitest'
import { describeSchedule } from './describe.ts'
import type { Schedule } from './schedule.ts'

test.each<[Schedule, string]>([
  [{ type: 'once', at: '2027-01-01T09:00:00+01:00' }, 'Once, at 2027-01-01T09:00:00+01:00'],
  [{ type: 'every', interval: '1m30s' }, 'Every 1 minute 30 seconds'],
  [{ type: 'every', interval: '60m' }, 'Every hour'],
  [
    { type: 'every', interval: '2d', anchor: '2027-01-01T00:00:00Z' },
    'Every 2 days, counted from 2027-01-01T00:00:00Z',
  ],
  [{ type: 'delay', interval: '10ms' }, '10 milliseconds after the previous run has ended'],
  [{ type: 'daily', hour: 2, minute: 5, timezone: 'Europe/Kyiv' }, 'Every day at 02:05 (Europe/Kyiv)'],
  [{ type: 'manual' }, 'Only when triggered'],
  [
    {
      type: 'dates',
      dates: ['2026-12-24T18:00', '2026-12-31T18:00:30'],
      timezone: 'Europe/Vienna',
      fold: 'both',
    },
    'On 2026-12-24 at 18:00 and 2026-12-31 at 18:00:30 (Europe/Vienna, fold both)',
  ],
  [
    {
      type: 'several',
      triggers: [
        { type: 'daily', hour: 9, minute: 0, timezone: 'UTC' },
        { type: 'every', interval: '2h' },
      ],
    },
    'Every day at 09:00 (UTC); every 2 hours',
  ],
])('%j is put into words', (schedule, words) => {
  expect(describeSchedule(schedule)).toBe(words)
})

test.each([
  ['*/5 * * * *', 'Every 5 minutes by the clock'],
  ['*/7 * * * *', 'Every 7 minutes'],
  ['30 2 * * *', 'Every day at 02:30'],
  ['@hourly', 'Every hour at minute 0'],
  ['0 9 * * MON', 'Every Monday at 09:00'],
  ['0 9,17 * * 1-5', 'Every weekday at 09:00 and 17:00'],
  ['0 9 1 JAN *', 'Every year on 1 January at 09:00'],
  ['0 9 1 JAN-MAR *', 'At 09:00, on day 1 of the month, January through March'],
  ['0 9 L * ?', 'On the last day of the month at 09:00'],
  ['0 9 LW * *', 'On the last weekday of the month at 09:00'],
  ['*/15 8-17 * * MON-FRI', 'Every 15 minutes between 8 and 18, on weekdays'],
  [
    '0 9 3W,15W * *',
    'At 09:00, on the weekday nearest day 3 of the month and on the weekday nearest day 15 of the month',
  ],
  ['0 9 * * MON-TUE#2', 'At 09:00, on the second Monday of the month and on the second Tuesday of the month'],
  ['0 9 * * 5L', 'On the last Friday of the month at 09:00'],
  ['H 9 * * *', 'At the times of the cron expression H 9 * * *, H chosen for each task'],
])('cron %s reads: %s', (expression, words) => {
  expect(describeSchedule({ type: 'cron', expression, timezone: 'UTC' })).toBe(`${words} (UTC)`)
})

test.each([
  ['0 9 1 * MON', 'At 09:00, on day 1 of the month or on Monday'],
  ['* * * * 0-7/1', 'Every minute, Sunday through Saturday'],
  ['* * 1 * 0-7', 'Every minute, on day 1 of the month or on Sunday through Saturday'],
  ['0 9 * * 6-7#2', 'At 09:00, on the second Saturday of the month and on the second Sunday of the month'],
  ['0 9 * * 0-7/3', 'At 09:00, only on Sunday, Wednesday, and Saturday'],
  ['0 9 1,15 * MON-FRI', 'At 09:00, on day 1 and 15 of the month or on Monday through Friday'],
  [
    '0 9 13 6 FRI#2,5L',
    'At 09:00, on day 13 of the month or on the second Friday of the month and on the last Friday of the month, only in June',
  ],
  ['0 9 */1 * MON', 'At 09:00'],
])('cron %s says that either day field is enough', (expression, words) => {
  expect(describeSchedule({ type: 'cron', expression, timezone: 'UTC' })).toBe(`${words} (UTC)`)
})

test('with a seed, the description shows the value chosen for H', () => {
  const schedule: Schedule = { type: 'cron', expression: 'H 9 * * *', timezone: 'UTC' }

  expect(describeSchedule(schedule, 'report')).toMatch(
    /^Every day at 09:\d\d, as H was chosen for this task \(UTC\)$/,
  )
})

test('a long list of dates is shortened to a count', () => {
  const dates = Array.from({ length: 12 }, (_, i) => `2027-01-${String(i + 10)}T09:00`)

  expect(describeSchedule({ type: 'dates', dates, timezone: 'UTC' })).toMatch(
    /2027-01-19 at 09:00 and 2 more \(UTC\)$/,
  )
})
