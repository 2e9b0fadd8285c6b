import { expect, test } from 'vitest'
import { afterKey } from './typed-ahead.ts'

test('characters are appended, Backspace removes the last one, and other keys do nothing', () => {
  const keys = ['Shift', 'B', 'a', 'x', 'Backspace', 'ü', '😀', 'Enter', 'ArrowDown']

  expect(keys.reduce(afterKey, '')).toBe('Baü😀')
})
