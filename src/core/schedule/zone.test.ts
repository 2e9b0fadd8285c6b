import { expect, test } from 'vitest'
import { zoneOf, zoneProblem } from './zone.ts'

const HOUR = 3_600_000

/** The clock changes of some years as text: instant, hours before, hours after. */
const changesOf = (name: string, from: number, to: number): string[] =>
  Array.from(
    zoneOf(name).clockChanges(Date.UTC(from, 0, 1), Date.UTC(to, 0, 1) - 1),
    ({ at, before, after }) => `${new Date(at).toISOString().slice(0, 16)} ${before / HOUR} ${after / HOUR}`,
  )

test.each([
  ['Europe/Berlin', 2027, 2028, ['2027-03-28T01:00 1 2', '2027-10-31T01:00 2 1']],
  ['Australia/Lord_Howe', 2027, 2028, ['2027-04-03T15:00 11 10.5', '2027-10-02T15:30 10.5 11']],
  [
    'Pacific/Apia',
    2011,
    2012,
    ['2011-04-02T14:00 -10 -11', '2011-09-24T14:00 -11 -10', '2011-12-30T10:00 -10 14'],
  ],
  [
    'America/Noronha',
    2000,
    2001,
    ['2000-02-27T01:00 -1 -2', '2000-10-08T02:00 -2 -1', '2000-10-15T01:00 -1 -2'],
  ],
  ['Asia/Kathmandu', 2000, 2036, []],
  ['UTC', 1970, 2036, []],
])('the clock changes of %s from %i to %i are found to the second', (name, from, to, expected) => {
  expect(changesOf(name, from, to)).toEqual(expected)
})

test('segments tile time without holes, across every border', () => {
  const zone = zoneOf('Africa/Casablanca')
  let segment = zone.segmentAt(Date.UTC(2010, 0, 1))
  while (segment.end < Date.UTC(2035, 0, 1)) {
    const next = zone.segmentAt(segment.end)
    expect(next.start).toBe(segment.end)
    expect(zone.segmentAt(next.end - 1)).toBe(next)
    segment = next
  }
})

test('a segment says which of its wall times the clocks skip or repeat', () => {
  const zone = zoneOf('Europe/Berlin')
  const summer = zone.segmentAt(Date.UTC(2027, 2, 28, 1))
  const winter = zone.segmentAt(Date.UTC(2027, 9, 31, 1))

  expect(summer.gapFrom).toBe(Date.UTC(2027, 2, 28, 2))
  expect(zone.segmentAt(Date.UTC(2027, 9, 31, 0)).repeatsFrom).toBe(Date.UTC(2027, 9, 31, 2))
  expect(winter.repeatedUntil).toBe(Date.UTC(2027, 9, 31, 3))
  expect(winter.gapFrom).toBeNull()
})

test('zone names that the runtime accepts but does not list are valid', () => {
  expect(['UTC', 'Europe/Kyiv', 'Asia/Kolkata', 'GMT'].map(zoneProblem)).toEqual([null, null, null, null])
})
