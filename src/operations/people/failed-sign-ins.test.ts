import { expect, test } from 'vitest'
import { FailedSignIns } from './failed-sign-ins.ts'

function failed(address: string | null, times = 10): FailedSignIns {
  const failures = new FailedSignIns()
  for (let i = 0; i < times; i++) failures.note(address, 1_000)
  return failures
}

test('the tenth failure of a minute makes an address wait until the minute is over', () => {
  expect(failed('192.0.2.1', 9).waitSeconds('192.0.2.1', 2_000)).toBe(0)
  expect(failed('192.0.2.1').waitSeconds('192.0.2.1', 2_000)).toBe(59)
  expect(failed('192.0.2.1').waitSeconds('192.0.2.1', 61_000)).toBe(0)
  expect(failed('192.0.2.1').waitSeconds('192.0.2.2', 2_000)).toBe(0)
})

test('addresses of one IPv6 network count together', () => {
  const failures = failed('2001:db8:0:1::1')

  expect(failures.waitSeconds('2001:db8:0:1:ffff::2', 2_000)).toBe(59)
  expect(failures.waitSeconds('2001:db8:0:2::1', 2_000)).toBe(0)
  expect(failed('::1').waitSeconds('::2', 2_000)).toBe(59)
  expect(failed('::ffff:192.0.2.1').waitSeconds('::ffff:192.0.2.2', 2_000)).toBe(0)
})
