import { expect, test } from 'vitest'
import { isKeptExactly } from './exact-number.ts'

test.each([
  ...['0', '-0', '1', '1.0', '1.50', '-12.5', '0.1', '100', '123456789012345', '9007199254740992'],
  ...[
    '1e3',
    '1E+3',
    '1e-7',
    '1e21',
    '12e-1',
    '5e-324',
    '1.7976931348623157e308',
    '0e999',
    '0.30000000000000004',
  ],
  ...['1000000000000000000000000', '0.00000000000000000001'],
])('%s keeps its value', (literal) => {
  expect(isKeptExactly(literal)).toBe(true)
})

test.each([
  ...['9007199254740993', '12345678901234567890', '-12345678901234567890', '0.1234567890123456789'],
  ...[
    '1e400',
    '-1e400',
    '1e-400',
    '1.79769313486231571e308',
    '0.10000000000000001',
    '100000000000000000000001',
  ],
])('%s would change', (literal) => {
  expect(isKeptExactly(literal)).toBe(false)
})

test('a number with a million zeros is checked without delay', () => {
  expect(isKeptExactly(`1.${'0'.repeat(1_000_000)}`)).toBe(true)
  expect(isKeptExactly(`1.${'0'.repeat(1_000_000)}1`)).toBe(false)
})
