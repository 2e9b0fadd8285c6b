import { expect, test } from 'vitest'
import type { DaylightSavingChoice } from './daylight-saving.ts'
import { occurrencesBetween } from './occurrences.ts'
import type { Plan } from './schedule.ts'
import { wallRuleOf } from './wall-rule.ts'

interface Walk extends DaylightSavingChoice {
  readonly expression: string
  readonly timezone: string
  readonly from: string
  readonly to: string
}

/** Fires in (from, to] as UTC minutes. */
function walk({ from, to, ...schedule }: Walk): string[] {
  const plan: Plan = { schedule: { type: 'cron', ...schedule }, startAt: null, endAt: null, anchorAt: 0 }
  const fires = occurrencesBetween(plan, Date.parse(from), Date.parse(to), 1_000)
  return Array.from(fires, (instant) => new Date(instant).toISOString().slice(0, 16))
}

/** Berlin goes from 02:00 to 03:00 at 01:00 UTC on 28 March 2027, and back from 03:00 at 01:00 UTC on 31 October. */
const spring = { timezone: 'Europe/Berlin', from: '2027-03-27T12:00Z', to: '2027-03-28T12:00Z' }
const autumn = { timezone: 'Europe/Berlin', from: '2027-10-30T12:00Z', to: '2027-10-31T12:00Z' }

test('a fixed time in the gap fires at the first instant after it', () => {
  expect(walk({ ...spring, expression: '30 2 * * *' })).toEqual(['2027-03-28T01:00'])
})

test('a list of fixed times counts as fixed', () => {
  expect(walk({ ...spring, expression: '30 2,4 * * *' })).toEqual(['2027-03-28T01:00', '2027-03-28T02:30'])
  expect(walk({ ...autumn, expression: '30 2,4 * * *' })).toEqual(['2027-10-31T00:30', '2027-10-31T03:30'])
})

test('several fixed times in one gap, and one right after it, fire once', () => {
  expect(walk({ ...spring, expression: '0,15,30 2,3 * * *' })).toEqual([
    '2027-03-28T01:00',
    '2027-03-28T01:15',
    '2027-03-28T01:30',
  ])
})

test('with gap skip a fixed time in the gap does not fire', () => {
  expect(walk({ ...spring, expression: '30 2 * * *', gap: 'skip' })).toEqual([])
})

test('an interval-like pattern passes over the gap without an extra fire', () => {
  expect(walk({ ...spring, expression: '15 */2 * * *', to: '2027-03-28T03:00Z' })).toEqual([
    '2027-03-27T13:15',
    '2027-03-27T15:15',
    '2027-03-27T17:15',
    '2027-03-27T19:15',
    '2027-03-27T21:15',
    '2027-03-27T23:15',
    '2027-03-28T02:15',
  ])
})

test('with gap next an interval-like pattern fires right after the gap', () => {
  const walked = walk({ ...spring, expression: '15 */2 * * *', gap: 'next', from: '2027-03-28T00:00Z' })

  expect(walked.slice(0, 2)).toEqual(['2027-03-28T01:00', '2027-03-28T02:15'])
})

test('a fixed time that occurs twice fires at the first', () => {
  expect(walk({ ...autumn, expression: '30 2 * * *' })).toEqual(['2027-10-31T00:30'])
})

test('fold last fires the second time, and fold both fires both times', () => {
  expect(walk({ ...autumn, expression: '30 2 * * *', fold: 'last' })).toEqual(['2027-10-31T01:30'])
  expect(walk({ ...autumn, expression: '15,45 2 * * *', fold: 'both' })).toEqual([
    '2027-10-31T00:15',
    '2027-10-31T00:45',
    '2027-10-31T01:15',
    '2027-10-31T01:45',
  ])
})

test('an interval-like pattern fires in both passes of the repeated hour', () => {
  const walked = walk({ ...autumn, expression: '*/20 2 * * *' })

  expect(walked).toEqual([
    '2027-10-31T00:00',
    '2027-10-31T00:20',
    '2027-10-31T00:40',
    '2027-10-31T01:00',
    '2027-10-31T01:20',
    '2027-10-31T01:40',
  ])
})

test('stepping from the second pass does not go back to the first', () => {
  expect(walk({ ...autumn, expression: '30 2 * * *', from: '2027-10-31T01:10Z' })).toEqual([])
  expect(walk({ ...autumn, expression: '30 2 * * *', fold: 'both', from: '2027-10-31T01:10Z' })).toEqual([
    '2027-10-31T01:30',
  ])
})

test.each([
  ['Africa/Cairo', '2027-04-29T12:00Z', '2027-04-30T12:00Z', '0 0 * * *', ['2027-04-29T22:00']],
  ['Asia/Beirut', '2027-03-27T12:00Z', '2027-03-28T12:00Z', '0 0 * * *', ['2027-03-27T22:00']],
  ['America/Santiago', '2027-09-04T12:00Z', '2027-09-05T12:00Z', '0 0 * * *', ['2027-09-05T04:00']],
  ['Australia/Lord_Howe', '2027-10-02T00:00Z', '2027-10-03T00:00Z', '15 2 * * *', ['2027-10-02T15:30']],
])('a gap of %s does not lose the day', (timezone, from, to, expression, expected) => {
  expect(walk({ timezone, from, to, expression })).toEqual(expected)
})

test('the half hour that Lord Howe repeats is walked twice', () => {
  const fall = { timezone: 'Australia/Lord_Howe', from: '2027-04-03T14:25Z', to: '2027-04-03T15:45Z' }

  expect(walk({ ...fall, expression: '*/15 * * * *' })).toEqual([
    '2027-04-03T14:30',
    '2027-04-03T14:45',
    '2027-04-03T15:00',
    '2027-04-03T15:15',
    '2027-04-03T15:30',
    '2027-04-03T15:45',
  ])
})

test('a time on a skipped day fires at the end of the day, or never with gap skip', () => {
  const apia = { timezone: 'Pacific/Apia', from: '2011-12-29T12:00Z', to: '2011-12-30T22:00Z' }

  expect(walk({ ...apia, expression: '0 8 * * *' })).toEqual([
    '2011-12-29T18:00',
    '2011-12-30T10:00',
    '2011-12-30T18:00',
  ])
  expect(walk({ ...apia, expression: '0 8 * * *', gap: 'skip' })).toEqual([
    '2011-12-29T18:00',
    '2011-12-30T18:00',
  ])
})

test('a pattern that only ever falls into gaps ends the search instead of spinning', () => {
  const rule = wallRuleOf({
    type: 'cron',
    expression: '30 2 ? 3 SUNL',
    timezone: 'Europe/Berlin',
    gap: 'skip',
  })

  expect(rule.nextFire(Date.UTC(2027, 0, 1))).toBeNull()
})

test('rare patterns are found without walking through the years between', () => {
  const rule = wallRuleOf({ type: 'cron', expression: '0 12 ? 2 FRI#5', timezone: 'Europe/Berlin' })

  expect(rule.nextFire(Date.UTC(2037, 0, 1))).toBe(Date.UTC(2064, 1, 29, 11))
})

test('the search ends after the last supported year', () => {
  const rule = wallRuleOf({ type: 'cron', expression: '* * * * *', timezone: 'UTC' })

  expect(rule.nextFire(Date.UTC(9999, 0, 1))).toBeNull()
  expect(rule.nextFire(Number.NEGATIVE_INFINITY)).toBe(Date.UTC(1900, 0, 1))
})
