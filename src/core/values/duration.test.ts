import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, MAX_DURATION_MS, parseDuration } from './duration.ts'

test.each([
  ['10ms', 10],
  ['3s', 3_000],
  ['1m30s', 90_000],
  ['30s1m', 90_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['0s', 0],
  ['0.001s', 1],
  ['3650d', MAX_DURATION_MS],
])('%s is %i milliseconds', (text, ms) => {
  expect(parseDuration(text)).toEqual({ ok: true, ms })
})

test.each([
  ['', 'is empty; use a number with a unit, such as "5s"'],
  ['5', 'has no unit after 5; write "5s" for seconds'],
  ['1m30', 'has no unit after 30; write "30s" for seconds'],
  ['-5s', 'is negative; a duration must be zero or more'],
  ['5 s', 'has no unit after 5; write "5s" for seconds'],
  ['1m 30s', 'is not valid at " 30s"; use the form "1m30s"'],
  ['.5s', 'is not valid at ".5s"; use the form "1m30s"'],
  ['5w', 'has the unknown unit "w"; use ms, s, m, h or d'],
  ['5S', 'has the unknown unit "S"; use ms, s, m, h or d'],
  ['1s1s', 'names the unit s twice'],
  ['1.5ms', 'is not a whole number of milliseconds'],
  ['0.0000001h', 'has more than 6 digits after the point'],
  ['3650d1ms', 'is longer than the maximum 3650d'],
  ['99999999999999999999d', 'is longer than the maximum 3650d'],
])('%j is refused and the reason says how to write it', (text, reason) => {
  expect(parseDuration(text)).toEqual({ ok: false, reason })
})

test('a megabyte of text is refused for its length, before it is parsed', () => {
  const tooLong = `${'9'.repeat(1_000_000)}d`

  expect(parseDuration(tooLong)).toEqual({
    ok: false,
    reason: 'is longer than 64 characters; use the form "1m30s"',
  })
})

test.each([
  [0, '0s'],
  [90_000, '1m30s'],
  [86_400_001, '1d1ms'],
  [5_400_000, '1h30m'],
])('%i milliseconds are written %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test('every duration survives being written and read again', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_DURATION_MS }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toEqual({ ok: true, ms })
    }),
  )
})

test('no text makes the parser throw or return anything but whole milliseconds', () => {
  const text = fc.stringMatching(/^[0-9.dhms -]{0,20}$/)
  fc.assert(
    fc.property(fc.oneof(text, fc.string()), (anything) => {
      const parsed = parseDuration(anything)
      expect(parsed.ok ? Number.isInteger(parsed.ms) && parsed.ms >= 0 : parsed.reason.length > 0).toBe(true)
    }),
  )
})
