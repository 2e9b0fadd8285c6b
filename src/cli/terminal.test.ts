import { expect, test } from 'vitest'
import { harmless } from './terminal.ts'

test('only line ends and our own colours are printed, all other control characters are escaped', () => {
  const text =
    '\u001b[32mok\u001b[39m\n\u001b]0;title\u0007\r\u001b[2J\u001b[8mhidden\u001b[100mx\u009b1m\u202e'

  expect(harmless(text, true)).toBe(
    '\u001b[32mok\u001b[39m\n\\u001b]0;title\\u0007\\u000d\\u001b[2J\\u001b[8mhidden\\u001b[100mx\\u009b1m\\u202e',
  )
})

test('without colours every colour sequence is escaped', () => {
  expect(harmless('\u001b[32mok\u001b[39m\n', false)).toBe('\\u001b[32mok\\u001b[39m\n')
})

test('escaped JSON parses to the same value', () => {
  const value = { text: 'a\u009bb\u2028c\u202ed\u001b[31m\n', list: [1] }

  expect(JSON.parse(harmless(JSON.stringify(value, null, 2), true))).toEqual(value)
})
