import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DAY_MS } from '../values/time-units.ts'
import { civilFromDays, daysFromCivil, daysInMonth, weekdayOf } from './civil.ts'

const anyDay = fc.integer({ min: -700_000, max: 2_900_000 })

test('days become the same dates as in the platform calendar, and back', () => {
  fc.assert(
    fc.property(anyDay, (days) => {
      const date = new Date(days * DAY_MS)
      const civil = civilFromDays(days)
      expect(civil).toEqual({
        year: date.getUTCFullYear(),
        month: date.getUTCMonth() + 1,
        day: date.getUTCDate(),
      })
      expect(daysFromCivil(civil.year, civil.month, civil.day)).toBe(days)
      expect(weekdayOf(days)).toBe(date.getUTCDay())
    }),
    { numRuns: 1_000 },
  )
})

test.each([
  [2024, 2, 29],
  [2023, 2, 28],
  [1900, 2, 28],
  [2000, 2, 29],
  [2026, 4, 30],
  [2026, 12, 31],
])('in %i month %i has %i days', (year, month, length) => {
  expect(daysInMonth(year, month)).toBe(length)
})
