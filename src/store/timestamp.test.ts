import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseTimestamp } from './timestamp.ts'

test('a timestamp reads as the millisecond it stands for', () => {
  expect(parseTimestamp('2026-11-15 20:45:59.123456+00')).toBe(Date.UTC(2026, 10, 15, 20, 45, 59, 123))
  expect(parseTimestamp('2026-11-15 20:45:59.1+00')).toBe(Date.UTC(2026, 10, 15, 20, 45, 59, 100))
  expect(parseTimestamp('2026-11-15 20:45:59+00')).toBe(Date.UTC(2026, 10, 15, 20, 45, 59))
})

test('every instant comes back as it went', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (ms) => {
      const text = new Date(ms).toISOString().replace('T', ' ').replace('Z', '+00')
      expect(parseTimestamp(text)).toBe(ms)
    }),
  )
})
