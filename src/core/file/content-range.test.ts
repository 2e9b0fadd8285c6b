import { expect, test } from 'vitest'
import { parseContentRange } from './content-range.ts'

test.each([
  ['bytes 0-9/10', { from: 0, to: 9, total: 10 }],
  ['bytes 5-9/*', { from: 5, to: 9, total: null }],
  ['bytes */10', { from: null, total: 10 }],
  ['bytes 0-9', null],
  ['bytes 9-0/10', null],
  ['bytes 0-10/10', null],
  ['bytes */*', null],
  ['bytes=0-9/10', null],
  ['bytes 0-9999999999999999/*', null],
  ['', null],
])('Content-Range %j', (text, range) => {
  expect(parseContentRange(text)).toEqual(range)
})
