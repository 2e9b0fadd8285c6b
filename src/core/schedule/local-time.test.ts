import { expect, test } from 'vitest'
import { localTime } from './local-time.ts'

test('an instant is shown on the wall clock of its zone, with the offset of that day', () => {
  expect(localTime(Date.UTC(2026, 6, 1, 7, 0), 'Europe/Berlin')).toBe('2026-07-01T09:00:00.000+02:00')
  expect(localTime(Date.UTC(2026, 11, 1, 8, 0), 'Europe/Berlin')).toBe('2026-12-01T09:00:00.000+01:00')
  expect(localTime(Date.UTC(2026, 11, 1, 8, 0), 'America/St_Johns')).toBe('2026-12-01T04:30:00.000-03:30')
  expect(localTime(Date.UTC(2026, 11, 1, 8, 0), 'UTC')).toBe('2026-12-01T08:00:00.000+00:00')
})
