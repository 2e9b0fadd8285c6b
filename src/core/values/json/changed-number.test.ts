import { expect, test } from 'vitest'
import { changedNumber } from './changed-number.ts'

test('a number that would be stored as another number is named with its path', () => {
  expect(changedNumber('{"a":{"b":[1,9007199254740993]}}')).toMatch(
    /^a\.b\.1 is 9007199254740993, which would be stored as 9007199254740992;/,
  )
  expect(changedNumber('1e400')).toMatch(/^it is 1e400, which is beyond the range of a double;/)
})

test('exact numbers and texts are accepted', () => {
  expect(changedNumber('{"a":[1.5,"9007199254740993","9007199254740993 \\" 1e400"]}')).toBeNull()
})
