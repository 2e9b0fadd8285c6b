import { expect, test } from 'vitest'
import { addressesIn } from './forwarded-for.ts'

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['198.51.100.1, 203.0.113.9,10.0.0.7', '198.51.100.1, 203.0.113.9, 10.0.0.7'],
  ['203.0.113.9:4711', '203.0.113.9'],
  ['[2001:db8::9]:443, [2001:db8::1]', '2001:db8::9, 2001:db8::1'],
  ['198.51.100.1, unknown, 203.0.113.9', '203.0.113.9'],
  ['198.51.100.1, 203.0.113.9, unknown', ''],
  ['fe80::1%eth0, 10.0.0.7', '10.0.0.7'],
  ['010.0.0.1', ''],
  [' , ', ''],
  ['', ''],
])('the header %j contains the addresses %j', (header, addresses) => {
  expect(addressesIn(header)).toBe(addresses)
})
