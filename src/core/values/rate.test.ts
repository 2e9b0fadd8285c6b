import { expect, test } from 'vitest'
import { parseRate } from './rate.ts'

test.each([
  ['10/s', 100],
  ['1/s', 1_000],
  ['120/m', 500],
  ['1/h', 3_600_000],
  ['1000/s', 1],
])('%s is one every %d ms', (text, gapMs) => {
  expect(parseRate(text)).toEqual({ ok: true, gapMs })
})

test.each(['', '10', '0/s', '-1/s', '1.5/s', '10/d', '10 / s', '01/s', '10/S', '1e3/s', '99999999/h'])(
  '%j is no rate',
  (text) => {
    expect(parseRate(text)).toMatchObject({ ok: false, reason: expect.stringContaining('such as 10/s') })
  },
)

test('a rate above 1000/s is refused', () => {
  expect(parseRate('1001/s')).toMatchObject({ ok: false, reason: 'must not be more than 1000/s' })
  expect(parseRate('9999999/m')).toMatchObject({ ok: false })
})
