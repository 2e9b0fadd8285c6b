import { expect, test } from 'vitest'
import { inPreferredOrder } from './address-order.ts'

const FOUR = '93.184.216.34'
const SIX = '2606:4700::1111'
const LOCAL_SIX = 'fd12:3456::9'

const orderOf = (addresses: readonly string[], own: readonly string[]) =>
  inPreferredOrder(addresses, () => own).map(({ address }) => address)

test.each([
  ['IPv6 goes first where this machine has it', ['192.168.1.2', '2001:4860::1'], [SIX, FOUR]],
  ['IPv6 goes last where this machine has none', ['192.168.1.2', '::1'], [FOUR, SIX]],
  ['IPv6 goes last where this machine has only local IPv6', ['192.168.1.2', 'fd00::2'], [FOUR, SIX]],
])('%s', (_, own, expected) => {
  expect(orderOf([FOUR, SIX], own)).toEqual(expected)
  expect(orderOf([SIX, FOUR], own)).toEqual(expected)
})

test('a loopback address that this machine has goes first', () => {
  expect(orderOf(['127.0.0.1', '::1'], ['127.0.0.1', '::1'])).toEqual(['::1', '127.0.0.1'])
  expect(orderOf(['::1', '127.0.0.1'], ['127.0.0.1'])).toEqual(['127.0.0.1', '::1'])
})

test('local IPv6 goes after IPv4, even between local networks', () => {
  expect(orderOf([LOCAL_SIX, FOUR], ['192.168.1.2', 'fd00::2'])).toEqual([FOUR, LOCAL_SIX])
})

test('addresses of the same kind keep the order of the answer', () => {
  const answered = ['192.0.2.9', '192.0.2.1', '192.0.2.5']

  expect(orderOf(answered, ['192.168.1.2'])).toEqual(answered)
  expect(orderOf([...answered, SIX], ['2001:4860::1'])).toEqual([SIX, ...answered])
})
