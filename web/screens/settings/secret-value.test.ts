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

test('what is pasted replaces the selection, with line feeds only, and the caret is behind it', () => {
  const selection = { value: 'abcd', start: 1, end: 3 }

  expect(pasted('x\ny', selection)).toEqual({ value: 'ax\nyd', caret: 4 })
  expect(pasted('x\r\ny\r', selection)).toEqual({ value: 'ax\ny\nd', caret: 5 })
})
