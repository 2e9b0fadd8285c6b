import { expect, test } from 'vitest'
import { TokenBucket } from './token-bucket.ts'

/** Starts as many as it may at every step of time. */
function starts(
  bucket: TokenBucket,
  { from = 0, ms, stepMs = 1 }: { from?: number; ms: number; stepMs?: number },
) {
  let count = 0
  for (let now = from; now < from + ms; now += stepMs)
    while (bucket.free(now) > 0) {
      bucket.take(now)
      count++
    }
  return count
}

test.each([
  ['10/s', 100, 10],
  ['7/s', 1_000 / 7, 7],
  ['300/m', 200, 5],
  ['1000/s', 1, 1_000],
])('%s starts exactly that many over a minute', (_, gapMs, perSecond) => {
  const bucket = new TokenBucket(() => 1, gapMs, 1)

  expect(starts(bucket, { ms: 60_000 })).toBe(60 * perSecond)
})

test('a burst starts at once, and only once', () => {
  const bucket = new TokenBucket(() => 1, 100, 20)

  expect(starts(bucket, { ms: 1 })).toBe(20)
  expect(starts(bucket, { from: 1, ms: 60_000 })).toBe(600)
})

test('a late timer loses no starts', () => {
  const bucket = new TokenBucket(() => 1, 100, 1)

  expect(starts(bucket, { ms: 60_000, stepMs: 7 })).toBe(600)
})

test('each of three nodes gets a third of the rate and of the burst', () => {
  const bucket = new TokenBucket(() => 3, 100, 6)

  expect(starts(bucket, { ms: 1 })).toBe(2)
  expect(starts(bucket, { from: 1, ms: 60_000 })).toBe(200)
})

test('the share of a node follows the number of nodes', () => {
  let nodes = 1
  const bucket = new TokenBucket(() => nodes, 100, 1)

  expect(starts(bucket, { ms: 10_000 })).toBe(100)
  nodes = 5
  expect(starts(bucket, { from: 10_000, ms: 10_000 })).toBe(20)
  nodes = 1
  expect(starts(bucket, { from: 20_000, ms: 10_000 })).toBe(100)
})

test('a share of a burst is at least one', () => {
  const bucket = new TokenBucket(() => 50, 100, 10)

  expect(bucket.free(0)).toBe(1)
})

test('the bucket reports when the next call may start and whether it is full', () => {
  const bucket = new TokenBucket(() => 1, 3_600_000, 1)
  bucket.take(0)

  const at = bucket.opensAt(0)

  expect(at).toBeGreaterThan(3_599_900)
  expect(bucket.free(at - 1)).toBe(0)
  expect(bucket.free(at)).toBe(1)
  expect([bucket.isFull(at - 1), bucket.isFull(at)]).toEqual([false, true])
})
