import { expect, test } from 'vitest'
import { isInside, isWithin, type Network, networkText, parseNetwork } from './network.ts'

const networks = (...texts: string[]) => texts.map((text) => parseNetwork(text) as Network)

test.each([
  ['10.1.0.0/16', '10.1.0.0/16'],
  ['10.1.2.3', '10.1.2.3/32'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['FD12:0::/48', 'fd12::/48'],
  ['::1', '::1/128'],
  ['::ffff:10.0.0.1', '10.0.0.1/32'],
])('%s is a network', (text, canonical) => {
  expect(networkText(parseNetwork(text) as Network)).toBe(canonical)
})

test.each([
  '',
  'localhost',
  '10.1.0.0/33',
  '10.1.0.0/',
  '10.1.0.0/8',
  '10.1.0.0/16/16',
  '10.1',
  '0x0a010000/16',
  '010.0.0.1',
  'fd12::1/48',
  'fe80::1%eth0',
])('%s is not a network', (text) => {
  expect(parseNetwork(text)).toBeNull()
})

test('an address is found in its network in any notation', () => {
  const list = networks('10.1.0.0/16', 'fd12::/48')

  expect(
    ['10.1.255.1', '::ffff:10.1.0.9', 'fd12::9', '10.2.0.1', 'fd13::1', '::1', 'nonsense'].map((address) =>
      isWithin(list, address),
    ),
  ).toEqual([true, true, true, false, false, false, false])
})

test('a network is inside another one when all of it is', () => {
  const [within, ...list] = networks('10.1.4.0/24', '10.1.0.0/16', 'fd12::/48')
  const [wider, other] = networks('10.0.0.0/8', 'fd12::/32')

  expect([within, wider, other].map((each) => isInside(list, each as Network))).toEqual([true, false, false])
})
