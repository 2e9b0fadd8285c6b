import { expect, test } from 'vitest'
import { keptText } from './kept-text.ts'

test.each([
  ['as it is', 20, 'as it is'],
  ['cut off', 3, 'cut'],
  ['a😀b', 20, 'a😀b'],
  ['a😀b', 2, 'a\ufffd'],
  ['\ud800\ud800\udc00\udc00', 20, '\ufffd\ud800\udc00\ufffd'],
  ['a\0b', 20, 'a\ufffdb'],
])('of %j at most %i characters are kept: %j', (text, limit, kept) => {
  expect(keptText(text, limit)).toBe(kept)
})
