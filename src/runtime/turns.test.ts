import { expect, test } from 'vitest'
import { mapInTurns } from './turns.ts'

const busy = (ms: number) => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('results come in order', async () => {
  expect(await mapInTurns(['a', 'b', 'c'], (item, index) => item + index)).toEqual(['a0', 'b1', 'c2'])
})

test('other work in the process proceeds in between', async () => {
  let turns = 0
  const others = setInterval(() => turns++, 1)

  await mapInTurns(Array.from({ length: 40 }), () => busy(3))

  clearInterval(others)
  expect(turns).toBeGreaterThan(5)
})

test('an item that fails ends the work with its error', async () => {
  await expect(
    mapInTurns([1, 2], (n) => {
      if (n === 2) throw new Error('two')
    }),
  ).rejects.toThrow('two')
})
