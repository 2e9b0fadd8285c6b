import { expect, test } from 'vitest'
import { instantOf, localOf } from './local-instant.ts'

test.each([
  ['2026-11-16T09:30', 'Europe/Berlin', '2026-11-16T08:30:00.000Z'],
  ['2026-07-01T09:30', 'America/New_York', '2026-07-01T13:30:00.000Z'],
  ['2026-11-16T09:30:15.250', 'Asia/Kathmandu', '2026-11-16T03:45:15.250Z'],
  ['2026-11-16T00:00', 'Pacific/Kiritimati', '2026-11-15T10:00:00.000Z'],
  ['2026-11-16T23:59', 'UTC', '2026-11-16T23:59:00.000Z'],
  ['2024-02-29T12:00', 'Pacific/Chatham', '2024-02-28T22:15:00.000Z'],
])('%s in %s is %s, and converts back', (local, zone, at) => {
  expect(instantOf(local, zone)).toBe(at)
  expect(localOf(at, zone)).toBe(local)
})

test('a time in a fold is the first of the two, and a time in a gap moves past the gap', () => {
  expect(instantOf('2026-10-25T02:30', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z')
  expect(instantOf('2026-03-29T02:30', 'Europe/Berlin')).toBe('2026-03-29T01:30:00.000Z')
  expect(localOf('2026-10-25T01:30:00Z', 'Europe/Berlin')).toBe('2026-10-25T02:30')
})

test.each([
  ['Europe/Berlin', '2026-03-28', '2026-10-24'],
  ['America/St_Johns', '2026-03-07', '2026-10-31'],
  ['Australia/Lord_Howe', '2026-04-04', '2026-10-03'],
])('hours around the clock changes of %s convert back to the same instant', (zone, ...days) => {
  for (const day of days)
    for (let hour = 0; hour < 48; hour++) {
      const at = Date.parse(`${day}T00:00Z`) + hour * 3_600_000
      const again = Date.parse(instantOf(localOf(new Date(at).toISOString(), zone), zone))
      // Only within a fold two instants look the same, and the first one is meant.
      expect([0, 1_800_000, 3_600_000], `${day} ${hour}`).toContain(at - again)
    }
})

test('text that is not a date is returned unchanged', () => {
  expect(instantOf('soon', 'UTC')).toBe('soon')
  expect(instantOf('', 'UTC')).toBe('')
  expect(instantOf('12026-01-01T00:00', 'Europe/Berlin')).toBe('12026-01-01T00:00')
  expect(instantOf('0002-01-01T00:00', 'Europe/Berlin')).toMatch(/^0001-12-31T23:/)
  expect(localOf(null, 'UTC')).toBe('')
  expect(localOf('nonsense', 'UTC')).toBe('')
})
