import { expect, test } from 'vitest'
import { bytesText, parseBytes } from './bytes.ts'

test('a size is a number and a unit', () => {
  expect(parseBytes('256MiB')).toEqual({ ok: true, bytes: 256 * 1024 * 1024 })
  expect(parseBytes('1.5 GiB')).toEqual({ ok: true, bytes: 1.5 * 1024 ** 3 })
  expect(parseBytes('0.3KiB')).toEqual({ ok: true, bytes: 307 })
})

test('an invalid size is refused, and the reason names the problem', () => {
  expect(parseBytes('256')).toEqual({ ok: false, reason: 'has no unit; write "256MiB" for mebibytes' })
  expect(parseBytes('256MB')).toMatchObject({ reason: expect.stringContaining('unknown unit MB') })
  for (const text of ['', '-1MiB', 'MiB', '1e9B', '1MiB 2', '9'.repeat(40)])
    expect(parseBytes(text)).toMatchObject({ ok: false })
})

test('bytes are written in the largest unit that divides them', () => {
  expect([0, 1, 1023, 1024, 3 * 1024 ** 3].map(bytesText)).toEqual(['0B', '1B', '1023B', '1KiB', '3GiB'])
})
