import { expect, test } from 'vitest'
import { AdaptiveLimit } from './adaptive-limit.ts'

/** Answers that come one after the other, `underWay` calls at a time, all with one latency. */
function answers(
  limit: AdaptiveLimit,
  start: number,
  { count = 32, underWay = 128, latencyMs = 10 } = {},
): number {
  let now = start
  for (let i = 0; i < count; i++) {
    now += latencyMs / underWay
    limit.answered(latencyMs, Math.min(underWay, limit.value), now)
  }
  return now
}

test('the limit starts at 128 and shrinks at most once per round trip', () => {
  const limit = new AdaptiveLimit()

  for (let i = 0; i < 50; i++) limit.failed(900, 1_000)
  expect(limit).toMatchObject({ value: 89, max: 128, shrunkBy: 'failures', shrunkSince: 1_000 })
  limit.failed(999, 1_500)
  expect(limit.value).toBe(89)
  limit.failed(1_000, 1_500)
  expect(limit.value).toBe(62)
})

test('the limit never shrinks below one', () => {
  const limit = new AdaptiveLimit()

  for (let now = 0; now < 100; now++) limit.failed(now, now)

  expect(limit.value).toBe(1)
})

test('the limit grows back with use, by a few calls per round trip', () => {
  const limit = new AdaptiveLimit()
  for (let now = 0; now < 10; now++) limit.failed(now, now)
  const shrunk = limit.value

  let now = answers(limit, 20, { count: shrunk, underWay: shrunk })
  expect(limit.value).toBeGreaterThan(shrunk + 1)
  expect(limit.value).toBeLessThan(shrunk + 8)
  now = answers(limit, now, { count: 10_000 })
  expect(limit).toMatchObject({ value: 128, shrunkBy: null })
})

test('the limit does not grow while few calls are under way, except after a minute without failures', () => {
  const limit = new AdaptiveLimit()
  limit.failed(0, 0)

  answers(limit, 1, { count: 1_000, underWay: 1 })
  expect(limit.value).toBe(89)
  answers(limit, 61_000, { count: 40, underWay: 1 })
  expect(limit).toMatchObject({ value: 128, shrunkBy: null })
})

test('a target that is steadily slow keeps its limit', () => {
  const limit = new AdaptiveLimit()

  answers(limit, 0, { count: 5_000, latencyMs: 30_000 })

  expect(limit).toMatchObject({ value: 128, shrunkBy: null })
})

test('slower responses shrink the limit temporarily', () => {
  const limit = new AdaptiveLimit()
  let now = answers(limit, 0, { count: 5_000, latencyMs: 20 })

  now = answers(limit, now, { count: 2_000, latencyMs: 400 })
  expect(limit.shrunkBy).toBe('latency')
  expect(limit.value).toBeLessThan(100)
  expect(limit.value).toBeGreaterThanOrEqual(16)
  answers(limit, now, { count: 200_000, latencyMs: 400 })
  expect(limit).toMatchObject({ value: 128, shrunkBy: null })
})

test('slower responses with few calls under way leave the limit unchanged', () => {
  const limit = new AdaptiveLimit()
  const now = answers(limit, 0, { count: 500, underWay: 8 })

  answers(limit, now, { count: 500, underWay: 8, latencyMs: 900 })

  expect(limit.value).toBe(128)
})

test('slow calls among fast ones do not shrink the limit', () => {
  const limit = new AdaptiveLimit()
  let now = answers(limit, 0, { count: 1_000 })

  for (let i = 0; i < 100; i++) {
    now = answers(limit, now, { count: 8, latencyMs: 10 })
    now = answers(limit, now, { count: 24, latencyMs: 2_000 })
  }

  expect(limit.value).toBe(128)
})

test('after a circuit closes the limit starts at four and doubles with each round trip', () => {
  const limit = new AdaptiveLimit()
  limit.ramp(0)

  expect(limit).toMatchObject({ value: 4, shrunkBy: 'ramping' })
  answers(limit, 1, { count: 4, underWay: 4 })
  expect(limit.value).toBe(8)
  answers(limit, 2, { count: 8, underWay: 8 })
  expect(limit.value).toBe(16)
})

test('a lower maximum applies at once, a higher one at once unless the limit has shrunk', () => {
  const limit = new AdaptiveLimit()

  limit.setMax(10)
  expect(limit.value).toBe(10)
  limit.setMax(500)
  expect(limit.value).toBe(500)
  limit.failed(0, 0)
  limit.setMax(1_000)
  expect(limit.value).toBe(350)
  limit.setMax(3)
  expect(limit).toMatchObject({ value: 3, shrunkBy: null })
})
