import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseInstant } from './instant.ts'

test.each([
  ['1970-01-01T00:00:00Z', 0],
  ['1970-01-01t00:00:01z', 1_000],
  ['2027-03-28T09:00:00+02:00', Date.UTC(2027, 2, 28, 7)],
  ['2027-03-28T09:00:00-05:30', Date.UTC(2027, 2, 28, 14, 30)],
  ['2024-02-29T00:00:00.5Z', Date.UTC(2024, 1, 29, 0, 0, 0, 500)],
  ['0099-01-01T00:00:00Z', -59_042_995_200_000],
])('%s is read', (text, at) => {
  expect(parseInstant(text)).toEqual({ ok: true, at })
})

test('digits beyond the millisecond round up, so that nothing fires early', () => {
  expect(parseInstant('1970-01-01T00:00:00.000000001Z')).toEqual({ ok: true, at: 1 })
  expect(parseInstant('1970-01-01T00:00:00.999999999Z')).toEqual({ ok: true, at: 1_000 })
})

test.each([
  '2027-03-28T09:00:00',
  '2027-03-28',
  '2027-03-28 09:00:00Z',
  '2027-02-29T00:00:00Z',
  '2027-13-01T00:00:00Z',
  '2027-00-01T00:00:00Z',
  '2027-01-01T24:00:00Z',
  '2027-01-01T00:00:60Z',
  '2027-01-01T00:00:00+24:00',
  '2027-01-01T00:00:00.Z',
  'tomorrow',
  '9'.repeat(1_000_000),
  '',
])('%.40s is refused', (text) => {
  expect(parseInstant(text).ok).toBe(false)
})

test('whatever the platform writes is read as the same instant', () => {
  const min = new Date('0001-01-01T00:00:00Z')
  const max = new Date('9999-12-31T23:59:59Z')
  fc.assert(
    fc.property(fc.date({ min, max, noInvalidDate: true }), (date) => {
      expect(parseInstant(date.toISOString())).toEqual({ ok: true, at: date.getTime() })
    }),
  )
})
