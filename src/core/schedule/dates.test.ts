import { expect, test } from 'vitest'
import { MAX_DATES, nextDate } from './dates.ts'
import { dstNotes } from './dst-notes.ts'
import type { DatesSchedule, Schedule } from './schedule.ts'
import { validateSchedule } from './validate-schedule.ts'

const dates = (list: readonly string[], more: Partial<DatesSchedule> = {}): DatesSchedule => ({
  type: 'dates',
  dates: list,
  timezone: 'Europe/Berlin',
  ...more,
})
function instantsOf(schedule: DatesSchedule): number[] {
  const instants: number[] = []
  for (let at = nextDate(schedule, 0); at !== null; at = nextDate(schedule, at)) instants.push(at)
  return instants
}
const iso = (schedule: DatesSchedule) => instantsOf(schedule).map((at) => new Date(at).toISOString())
const problemsOf = (schedule: Schedule) => {
  const check = validateSchedule(schedule)
  return check.ok ? [] : check.problems.map(({ pointer, detail }) => `${pointer} ${detail}`)
}

test('wall-clock times are read in the time zone, and each instant is due once, in order', () => {
  const list = [
    '2027-07-01T09:00',
    '2027-01-01T09:00:30',
    '2027-01-01T08:00:30Z',
    '2026-12-24T18:00:00+01:00',
  ]

  expect(iso(dates(list))).toEqual([
    '2026-12-24T17:00:00.000Z',
    '2027-01-01T08:00:30.000Z',
    '2027-07-01T07:00:00.000Z',
  ])
})

test('a wall time in a gap fires right after it, or not at all', () => {
  const inGap = ['2027-03-28T02:30']

  expect(iso(dates(inGap))).toEqual(['2027-03-28T01:00:00.000Z'])
  expect(iso(dates(inGap, { gap: 'skip' }))).toEqual([])
  const plan = { schedule: dates(inGap, { gap: 'skip' }), startAt: null, endAt: null, anchorAt: 0 }
  expect(dstNotes(plan, Date.UTC(2027, 0, 1), Date.UTC(2028, 0, 1), 10)).toMatchObject([
    { instant: null, kind: 'gap' },
  ])
})

test.each([
  ['first', ['2027-10-31T00:30:00.000Z']],
  ['last', ['2027-10-31T01:30:00.000Z']],
  ['both', ['2027-10-31T00:30:00.000Z', '2027-10-31T01:30:00.000Z']],
] as const)('a wall-clock time that occurs twice fires as fold %s says', (fold, instants) => {
  expect(iso(dates(['2027-10-31T02:30'], { fold }))).toEqual(instants)
})

test('clock changes that affect a date have notes', () => {
  const schedule = dates(['2027-03-28T02:30', '2027-10-31T02:30', '2027-06-01T02:30'])
  const plan = { schedule, startAt: null, endAt: null, anchorAt: 0 }

  const notes = dstNotes(plan, Date.UTC(2027, 0, 1), Date.UTC(2028, 0, 1), 10)

  expect(notes.map(({ wall, kind }) => [wall, kind])).toEqual([
    ['2027-03-28T02:30', 'gap'],
    ['2027-10-31T02:30', 'fold'],
  ])
})

test('dates of many zones and kinds come in the order of their instants', () => {
  const list = Array.from({ length: 300 }, (_, i) => {
    const at = new Date(Date.UTC(2027, 9, 30) + ((i * 7_919) % 2_880) * 60_000).toISOString()
    return i % 3 === 0 ? at : at.slice(0, 16)
  })
  for (const timezone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Europe/Berlin']) {
    const schedule = dates(list, { timezone, fold: 'both' })
    const one = (date: string) => instantsOf(dates([date], { timezone, fold: 'both' }))
    expect(instantsOf(schedule)).toEqual([...new Set(list.flatMap(one))].sort((a, b) => a - b))
  }
})

test('the next date is the first one strictly after', () => {
  const schedule = dates(['2027-01-01T00:00:00Z', '2027-01-02T00:00:00Z', '2027-01-03T00:00:00Z'])
  const [first = 0, second = 0, third = 0] = instantsOf(schedule)

  expect(nextDate(schedule, first - 1)).toBe(first)
  expect(nextDate(schedule, first)).toBe(second)
  expect(nextDate(schedule, third - 1)).toBe(third)
  expect(nextDate(schedule, third)).toBeNull()
})

test('each wrong date is named', () => {
  expect(problemsOf(dates(['2027-02-30T09:00', '2027-02-28T24:00', 'tomorrow', '2027-02-28T09:00']))).toEqual(
    [
      '/dates/0 names a day that does not exist',
      '/dates/1 has a time out of range; allowed 00:00:00–23:59:59',
      '/dates/2 is not a date; use a wall-clock time such as 2027-03-28T09:00, or an instant such as 2027-03-28T09:00:00+02:00',
    ],
  )
  expect(problemsOf(dates([]))).toEqual([`/dates has 0 dates; allowed are 1 to ${MAX_DATES}`])
  expect(problemsOf(dates(Array(MAX_DATES + 1).fill('2027-02-28T09:00')))).toEqual([
    `/dates has ${MAX_DATES + 1} dates; allowed are 1 to ${MAX_DATES}`,
  ])
})
