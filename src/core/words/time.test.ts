import { expect, test } from 'vitest'
import {
  describeInstant,
  formatCount,
  formatDistance,
  formatDuration,
  formatInstant,
  formatShare,
  roughly,
} from './time.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const at = (text: string) => Date.parse(text)

test.each([
  ['2026-11-17T01:30:00Z', 'Europe/Berlin', 'Tue 17 Nov, 02:30 Berlin'],
  ['2026-11-17T01:30:05Z', 'UTC', 'Tue 17 Nov, 01:30:05 UTC'],
  ['2027-03-28T01:00:00Z', 'Europe/Berlin', 'Sun 28 Mar 2027, 03:00 Berlin'],
  ['2026-11-17T00:00:00Z', 'America/Argentina/Buenos_Aires', 'Mon 16 Nov, 21:00 Buenos Aires'],
])('%s in %s is %s', (instant, zone, text) => {
  expect(formatInstant(at(instant), zone, { now: NOW })).toBe(text)
})

test('an instant is shown once in each zone and as RFC 3339', () => {
  const told = describeInstant(at('2026-11-17T01:30:00.250Z'), ['Europe/Berlin', 'UTC', 'Europe/Berlin'], NOW)

  expect(told.split('\n')).toEqual([
    'Tue 17 Nov, 02:30:00.250 Berlin',
    'Tue 17 Nov, 01:30:00.250 UTC',
    '2026-11-17T01:30:00.250Z',
  ])
})

test.each([
  [0, '0 ms'],
  [840, '840 ms'],
  [1_000, '1 s'],
  [1_250, '1.2 s'],
  [41_900, '41 s'],
  [60_000, '1 m'],
  [191_000, '3 m 11 s'],
  [25_920_000, '7 h 12 m'],
  [90_000_000, '1 d 1 h'],
])('%d ms is %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test.each([
  [999, 'now'],
  [-999, 'now'],
  [1_001, 'in 2 s'],
  [191_000, 'in 3 m 11 s'],
  [-61_000, '1 m 1 s ago'],
])('%d ms from now is %s', (ms, text) => {
  expect(formatDistance(NOW + ms, NOW)).toBe(text)
})

test.each([
  [840, '840 ms'],
  [59_999, '59 s'],
  [3_599_000, '59 min'],
  [86_399_000, '23 h'],
  [200_000_000, '2 d'],
  [-5, '0 ms'],
])('%i ms are roughly %s', (ms, text) => {
  expect(roughly(ms)).toBe(text)
})

test('counts have grouped digits, and a share is never rounded up to 100 percent', () => {
  expect(formatCount(41_208)).toBe('41 208')
  expect(formatShare(99_999, 100_000)).toBe('99.99 %')
  expect(formatShare(1, 2)).toBe('50 %')
  expect(formatShare(5, 5)).toBe('100 %')
  expect(formatShare(0, 0)).toBe('–')
})
