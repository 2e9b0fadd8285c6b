import { expect, test } from 'vitest'
import type { DaylightSavingChoice } from './daylight-saving.ts'
import { dstNotes } from './dst-notes.ts'
import type { Plan, Schedule } from './schedule.ts'

const year = [Date.UTC(2027, 0, 1), Date.UTC(2028, 0, 1)] as const
const planOf = (schedule: Schedule, bounds: Partial<Plan> = {}): Plan => ({
  schedule,
  startAt: null,
  endAt: null,
  anchorAt: 0,
  ...bounds,
})
const halfPastTwo = (choice: DaylightSavingChoice = {}): Schedule => ({
  type: 'daily',
  hour: 2,
  minute: 30,
  timezone: 'Europe/Berlin',
  ...choice,
})

test('a year of a nightly schedule has a note for spring and one for autumn', () => {
  expect(dstNotes(planOf(halfPastTwo()), ...year, 10)).toEqual([
    {
      instant: Date.UTC(2027, 2, 28, 1),
      wall: '2027-03-28T02:30',
      kind: 'gap',
      note: '02:30 does not exist on 2027-03-28, clocks in Europe/Berlin go from 02:00 to 03:00; fires at 03:00 instead',
    },
    {
      instant: Date.UTC(2027, 9, 31, 0, 30),
      wall: '2027-10-31T02:30',
      kind: 'fold',
      note: '02:30 occurs twice on 2027-10-31, clocks in Europe/Berlin go from 03:00 to 02:00; fires only the first time',
    },
  ])
})

test('a skipped time is noted as not firing', () => {
  const [gap] = dstNotes(planOf(halfPastTwo({ gap: 'skip' })), ...year, 10)

  expect(gap).toMatchObject({ instant: null, wall: '2027-03-28T02:30' })
  expect(gap?.note).toMatch(/; does not fire$/)
})

test('with fold both each of the two fires has its note', () => {
  const notes = dstNotes(planOf(halfPastTwo({ fold: 'both' })), ...year, 10).filter(
    ({ kind }) => kind === 'fold',
  )

  expect(notes.map(({ instant }) => instant)).toEqual([
    Date.UTC(2027, 9, 31, 0, 30),
    Date.UTC(2027, 9, 31, 1, 30),
  ])
  expect(notes[1]?.note).toMatch(/; fires both times, this is the second time$/)
})

test('the note about a skipped day shows the dates', () => {
  const schedule: Schedule = { type: 'daily', hour: 8, minute: 0, timezone: 'Pacific/Apia' }
  const range = [Date.UTC(2011, 11, 20), Date.UTC(2012, 0, 5)] as const

  expect(dstNotes(planOf(schedule), ...range, 10).map(({ note }) => note)).toEqual([
    '08:00 does not exist on 2011-12-30, clocks in Pacific/Apia go from 2011-12-30 00:00 to 2011-12-31 00:00; fires at 2011-12-31 00:00 instead',
  ])
})

test('schedules that no clock change touches have no notes', () => {
  const cron = (expression: string, timezone: string): Schedule => ({ type: 'cron', expression, timezone })

  expect(dstNotes(planOf(cron('0 9 * * *', 'Europe/Berlin')), ...year, 10)).toEqual([])
  expect(dstNotes(planOf(cron('30 2 * * *', 'UTC')), ...year, 10)).toEqual([])
  expect(dstNotes(planOf({ type: 'every', interval: '1h' }), ...year, 10)).toEqual([])
})

test('notes keep to the bounds of the plan and to the limit', () => {
  const everySecond: Schedule = { type: 'cron', expression: '* * * * * *', timezone: 'Europe/Berlin' }

  expect(dstNotes(planOf(everySecond), ...year, 10)).toHaveLength(10)
  expect(dstNotes(planOf(halfPastTwo(), { startAt: Date.UTC(2027, 5, 1) }), ...year, 10)).toHaveLength(1)
  expect(dstNotes(planOf(halfPastTwo(), { endAt: Date.UTC(2027, 5, 1) }), ...year, 10)).toHaveLength(1)
  expect(dstNotes(planOf(halfPastTwo()), year[0], Number.MAX_SAFE_INTEGER, 1)).toHaveLength(1)
})
