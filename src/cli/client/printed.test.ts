import { expect, test } from 'vitest'
import { countWords, waitingWords } from './printed.ts'

test('a count that stopped at its limit is marked', () => {
  expect(countWords({ count: 3, atLeast: false })).toBe('3')
  expect(countWords({ count: 150, atLeast: true })).toBe('150+')
  expect(waitingWords({ waiting: 10_000 })).toBe('10000+')
})
