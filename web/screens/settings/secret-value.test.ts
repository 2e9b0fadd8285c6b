import { expect, test } from 'vitest'
import { hasSeveralLines, pasted, sentValue } from './secret-value.ts'

test('one line break at the end of a value is removed', () => {
  expect(['a\nb\n', 'a\r\n', 'a\n\n', 'a', '\n'].map(sentValue)).toEqual(['a\nb', 'a', 'a\n', 'a', ''])
})

test('a copied line is one line, and a key in PEM has several', () => {
  expect(['token\n', 'token', '-----BEGIN KEY-----\r\nMII\r\n', 'a\rb'].map(hasSeveralLines)).toEqual([
    false,
    false,
    true,
    true,
  ])
})

test('what is pasted replaces the selection', () => {
  expect(pasted('x\ny', { value: 'abcd', start: 1, end: 3 })).toBe('ax\nyd')
})
