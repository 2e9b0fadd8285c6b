import { expect, test } from 'vitest'
import { extended } from './gap.ts'

const known = { from: 100, to: 200, at: 1 }

test.each([
  ['the first gap', null, { from: 100, to: 200 }, { from: 100, to: 200, at: 2 }],
  ['a known gap', known, { from: 100, to: 200 }, null],
  ['a part of a known gap', known, { from: 150, to: 200 }, null],
  ['a gap that has grown', known, { from: 150, to: 300 }, { from: 100, to: 300, at: 2 }],
  ['a gap that begins earlier', known, { from: 50, to: 200 }, { from: 50, to: 200, at: 2 }],
  ['a later gap', known, { from: 250, to: 300 }, { from: 250, to: 300, at: 2 }],
])('%s is stored once', (_, before, found, stored) => {
  expect(extended(before, { ...found, at: 2 })).toEqual(stored)
})
