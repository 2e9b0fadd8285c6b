import { expect, test } from 'vitest'
import { paceOf } from './pace.ts'
import type { Plan, Schedule } from './schedule.ts'

const noon = Date.UTC(2027, 0, 1, 12)
const MINUTE = 60_000
const DAY = 1_440 * MINUTE
const paceFrom = (schedule: Schedule, bounds: Partial<Plan> = {}) =>
  paceOf({ schedule, startAt: null, endAt: null, anchorAt: noon, ...bounds }, noon)
const cron = (expression: string): Schedule => ({ type: 'cron', expression, timezone: 'UTC' })

test.each<[string, Schedule, number | null, number | null]>([
  ['a rate', { type: 'every', interval: '5s' }, 5_000, 5_000],
  ['a delay', { type: 'delay', interval: '5s' }, 5_000, 5_000],
  ['minutes that do not divide the hour', cron('*/7 * * * *'), 4 * MINUTE, 7 * MINUTE],
  ['seconds', cron('*/15 * * * * *'), 15_000, 15_000],
  ['weekdays', cron('0 9 * * MON-FRI'), DAY, 3 * DAY],
  ['leap days', cron('0 9 29 2 *'), 1_461 * DAY, 1_461 * DAY],
  ['one date', { type: 'dates', dates: ['2027-06-01T09:00'], timezone: 'UTC' }, null, null],
  [
    'two dates',
    { type: 'dates', dates: ['2027-06-01T09:00', '2027-06-01T09:00:01'], timezone: 'UTC' },
    1_000,
    1_000,
  ],
  [
    'triggers that come close to one another',
    {
      type: 'several',
      triggers: [
        { type: 'daily', hour: 9, minute: 0, timezone: 'UTC' },
        { type: 'cron', expression: '1 9 1 * *', timezone: 'UTC' },
      ],
    },
    MINUTE,
    DAY,
  ],
  ['by hand', { type: 'manual' }, null, null],
])('the pace of %s', (_, schedule, shortestMs, longestMs) => {
  expect(paceFrom(schedule)).toMatchObject({ shortestMs, longestMs })
})

test('the first occurrence is after now, or at startAt', () => {
  expect(paceFrom(cron('0 * * * *')).first).toBe(noon + 60 * MINUTE)
  expect(paceFrom({ type: 'delay', interval: '5s' }, { startAt: noon + DAY }).first).toBe(noon + DAY)
})
