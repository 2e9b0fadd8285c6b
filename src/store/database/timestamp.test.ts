import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseTimestamp } from './timestamp.ts'

test('a timestamp reads as the millisecond it stands for', () => {
  expect(parseTimestamp('2026-11-15 20:45:59.123456+00')).toBe(Date.UTC(2026, 10, 15, 20, 45, 59, 123))
  expect(parseTimestamp('2026-11-15 20:45:59.1+00')).toBe(Date.UTC(2026, 10, 15, 20, 45, 59, 100))
  expect(parseTimestamp('2026-11-15 20:45:59+00')).toBe(Date.UTC(2026, 10, 15, 20, 45, 59))
})

test('every instant is parsed back to the same millisecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (ms) => {
      const text = new Date(ms).toISOString().replace('T', ' ').replace('Z', '+00')
      expect(parseTimestamp(text)).toBe(ms)
    }),
  )
})

test('the zone of the session does not matter', () => {
  const offset = fc.tuple(
    fc.constantFrom('+', '-'),
    fc.integer({ min: 0, max: 13 }),
    fc.constantFrom(0, 30, 45),
  )
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), offset, (ms, [sign, hours, minutes]) => {
      const two = (n: number) => String(n).padStart(2, '0')
      const ahead = (sign === '+' ? 1 : -1) * (hours * 60 + minutes) * 60_000
      const local = new Date(ms + ahead).toISOString().replace('T', ' ').replace('Z', '')
      const zone = `${sign}${two(hours)}${minutes === 0 ? '' : `:${two(minutes)}`}`
      expect(parseTimestamp(local + zone)).toBe(ms)
    }),
  )
})
