import { expect, test } from 'vitest'
import { enterAll, leaveAll, Places } from './places.ts'

const placesFor = (count: number) => new Places({ count, maxWaiting: 10, maxWaitMs: 10_000 })

test('lists use only some of the read places, so that other reads keep the rest', async () => {
  const [browsing, reading] = [placesFor(2), placesFor(3)]
  const lists = [browsing, reading]

  await enterAll(lists)
  await enterAll(lists)
  await enterAll([reading])

  const next = enterAll([reading])
  leaveAll(lists)
  expect(await next).toBe(true)
})

test('a request that gets only one of two places keeps neither', async () => {
  const [browsing, reading] = [placesFor(1), new Places({ count: 1, maxWaiting: 0, maxWaitMs: 10_000 })]
  await enterAll([reading])

  expect(await enterAll([browsing, reading])).toBe(false)

  leaveAll([reading])
  expect(await enterAll([browsing, reading])).toBe(true)
})

test('a place goes to the request that has waited longest', async () => {
  const places = placesFor(1)
  await enterAll([places])
  const served: number[] = []
  const waiting = [1, 2].map(async (number) => {
    await enterAll([places])
    served.push(number)
    leaveAll([places])
  })

  leaveAll([places])
  await Promise.all(waiting)

  expect(served).toEqual([1, 2])
})
