import { expect, test } from 'vitest'
import { parseJson, readJson } from './flag-values.ts'

test('a value that is not JSON is read as text', () => {
  expect(readJson('{"a":1}')).toEqual({ a: 1 })
  expect(readJson('plain words')).toBe('plain words')
})

test('a number that JSON cannot carry exactly is refused', () => {
  for (const read of [readJson, parseJson])
    expect(() => read('{"id":12345678901234567890}')).toThrow(
      'id is 12345678901234567890, which would be stored as 12345678901234567000',
    )
})
