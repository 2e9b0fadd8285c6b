import { expect, test } from 'vitest'
import { MAX_RETRY_AFTER_MS, parseRetryAfter } from './retry-after.ts'

const now = Date.parse('Wed, 21 Oct 2026 07:28:00 GMT')
const read = (value: string, date?: string) => parseRetryAfter(value, { date, now })

test('seconds are read as milliseconds and capped at an hour', () => {
  expect(read('0')).toBe(0)
  expect(read(' 120 ')).toBe(120_000)
  expect(read('86400')).toBe(MAX_RETRY_AFTER_MS)
})

test('a date is converted to a wait from now, never negative, capped at an hour', () => {
  expect(read('Wed, 21 Oct 2026 07:28:30 GMT')).toBe(30_000)
  expect(read('Wed, 21 Oct 2026 07:27:00 GMT')).toBe(0)
  expect(read('Thu, 21 Oct 2027 07:28:00 GMT')).toBe(MAX_RETRY_AFTER_MS)
})

test('a date is compared with the date of the response, so that clocks may differ', () => {
  expect(read('Wed, 21 Oct 2026 09:00:10 GMT', 'Wed, 21 Oct 2026 09:00:00 GMT')).toBe(10_000)
  expect(read('Wed, 21 Oct 2026 07:28:30 GMT', 'yesterday')).toBe(30_000)
})

test.each(['', 'soon', '-1', '1.5', '1e3', '2026-10-21', 'Xyz, 99 Foo 2026 99:99:99 GMT'])(
  '%j is ignored',
  (value) => {
    expect(read(value)).toBeUndefined()
  },
)
