import { expect, test } from 'vitest'
import { countsTo, decadesOf, logHeight } from './scales.ts'

test('the scale reaches the first power of ten that is not below the highest value', () => {
  expect(decadesOf(0)).toEqual([1, 10, 100])
  expect(decadesOf(100)).toEqual([1, 10, 100])
  expect(decadesOf(101)).toEqual([1, 10, 100, 1_000])
})

test('the lines of the scale are evenly spaced', () => {
  expect([0, 1, 10, 100, 1_000].map((ms) => logHeight(ms, 1_000))).toEqual([
    0,
    0,
    expect.closeTo(1 / 3),
    expect.closeTo(2 / 3),
    1,
  ])
})

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [2, [0, 1, 2]],
  [3, [0, 3]],
  [16, [0, 8, 16]],
  [21, [0, 12, 24]],
  [99, [0, 50, 100]],
  [100, [0, 50, 100]],
  [8_400, [0, 5_000, 10_000]],
])('a scale for counts up to %d has round lines and reaches the highest count', (highest, lines) => {
  expect(countsTo(highest)).toEqual(lines)
})
