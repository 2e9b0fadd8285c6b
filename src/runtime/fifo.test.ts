import { expect, test } from 'vitest'
import { Fifo } from './fifo.ts'

test('what came first goes first, however many come and go', () => {
  const fifo = new Fifo<number>()
  const taken: (number | undefined)[] = []

  for (let n = 0; n < 300; n++) {
    fifo.push(n)
    if (n % 3 > 0) taken.push(fifo.pop())
  }
  expect([fifo.size, fifo.first, [...fifo].length]).toEqual([100, 200, 100])
  while (fifo.size > 0) taken.push(fifo.pop())

  expect(taken).toEqual(Array.from({ length: 300 }, (_, n) => n))
  expect([fifo.first, fifo.pop(), [...fifo]]).toEqual([undefined, undefined, []])
})
