import { expect, test } from 'vitest'
import { sizeWords } from './size.ts'

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1_023, '1023 bytes'],
  [1_024, '1 KiB'],
  [1_434, '1.4 KiB'],
  [1_048_575, '1 MiB'],
  [300_000, '293 KiB'],
  [256 * 1024 ** 2, '256 MiB'],
  [5 * 1024 ** 5, '5120 TiB'],
])('%d bytes are %s', (bytes, words) => {
  expect(sizeWords(bytes)).toBe(words)
})
