import { expect, test } from 'vitest'
import { decadesOf, logHeight } from './log-scale.ts'

test('the scale reaches the first power of ten that is not below the highest value', () => {
  expect(decadesOf(0)).toEqual([1, 10, 100])
  expect(decadesOf(100)).toEqual([1, 10, 100])
  expect(decadesOf(101)).toEqual([1, 10, 100, 1_000])
})

test('each line is as far above the one below as any other', () => {
  expect([0, 1, 10, 100, 1_000].map((ms) => logHeight(ms, 1_000))).toEqual([
    0,
    0,
    expect.closeTo(1 / 3),
    expect.closeTo(2 / 3),
    1,
  ])
})
