import { expect, test } from 'vitest'
import { afterKey } from './typed-ahead.ts'

test('characters are typed, Backspace takes the last one away, and other keys say nothing', () => {
  const keys = ['Shift', 'B', 'a', 'x', 'Backspace', 'ü', '😀', 'Enter', 'ArrowDown']

  expect(keys.reduce(afterKey, '')).toBe('Baü😀')
})
