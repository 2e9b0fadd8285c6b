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
])('%j is put into words', (schedule, words) => {
  expect(describeSchedule(schedule)).toBe(words)
})

test.each([
  ['*/5 * * * *', 'Every 5 minutes'],
  ['30 2 * * *', 'At 02:30'],
  ['@hourly', 'Every hour'],
  ['0 9 * * MON', 'At 09:00, only on Monday'],
  ['0 9 1 JAN *', 'At 09:00, on day 1 of the month, only in January'],
  ['0 9 L * ?', 'At 09:00, on the last day of the month'],
  ['0 9 LW * *', 'At 09:00, on the last weekday of the month'],
  [
    '0 9 3W,15W * *',
    'At 09:00, on the weekday nearest day 3 of the month and on the weekday nearest day 15 of the month',
  ],
  ['0 9 * * MON-TUE#2', 'At 09:00, on the second Monday of the month and on the second Tuesday of the month'],
  ['0 9 * * 5L', 'At 09:00, on the last Friday of the month'],
])('cron %s reads: %s', (expression, words) => {
  expect(describeSchedule({ type: 'cron', expression, timezone: 'UTC' })).toBe(`${words} (UTC)`)
})

test.each([
  ['0 9 1 * MON', 'At 09:00, on day 1 of the month or on Monday'],
  ['0 9 1,15 * MON-FRI', 'At 09:00, on day 1 and 15 of the month or on Monday through Friday'],
  [
    '0 9 13 6 FRI#2,5L',
    'At 09:00, on day 13 of the month or on the second Friday of the month and on the last Friday of the month, only in June',
  ],
  ['0 9 */1 * MON', 'At 09:00'],
])('cron %s says that either day field is enough', (expression, words) => {
  expect(describeSchedule({ type: 'cron', expression, timezone: 'UTC' })).toBe(`${words} (UTC)`)
})
