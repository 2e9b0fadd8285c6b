import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  DEFAULT_RETRY_POLICY,
  mayRetry,
  RETRY_AFTER_CAP_MS,
  retryBackoff,
  retryDelay,
} from './retry-policy.ts'

const highest = () => 1 - Number.EPSILON
const lowest = () => 0

test('by default a run is retried three times', () => {
  const answers = [1, 2, 3, 4].map((failed) => mayRetry(DEFAULT_RETRY_POLICY, failed))

  expect(answers).toEqual([true, true, true, false])
})

test('the backoff doubles from the initial delay up to the maximum', () => {
  const backoffs = [1, 2, 3, 4, 5, 6, 7].map((failed) => retryBackoff(DEFAULT_RETRY_POLICY, failed))

  expect(backoffs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})

test('a delay is at least half of the backoff and at most all of it', () => {
  expect(retryDelay(DEFAULT_RETRY_POLICY, 2, lowest)).toBe(1_000)
  expect(retryDelay(DEFAULT_RETRY_POLICY, 2, highest)).toBe(2_000)
})

test('a delay is at least the Retry-After that a server requests', () => {
  expect(retryDelay(DEFAULT_RETRY_POLICY, 1, lowest, 45_000)).toBe(45_000)
  expect(retryDelay(DEFAULT_RETRY_POLICY, 1, highest, 10)).toBe(1_000)
})

test('a requested Retry-After is limited to the cap', () => {
  expect(retryDelay(DEFAULT_RETRY_POLICY, 1, lowest, 10 * RETRY_AFTER_CAP_MS)).toBe(RETRY_AFTER_CAP_MS)
})

test('every policy and number of failures gives a whole delay between half and all of the backoff', () => {
  const policy = fc.record({ limit: fc.nat(), initialMs: fc.nat(), maxMs: fc.nat() })
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(policy, fc.nat(), random, (policy, failed, drawn) => {
      const delay = retryDelay(policy, failed, () => drawn)
      expect(Number.isInteger(delay)).toBe(true)
      const backoff = retryBackoff(policy, failed)
      expect(delay).toBeGreaterThanOrEqual(backoff / 2)
      expect(delay).toBeLessThanOrEqual(backoff)
    }),
  )
})

test('delays are spread evenly over the upper half of the backoff', () => {
  const steps = 500

  const delays = Array.from({ length: steps }, (_, i) => retryDelay(DEFAULT_RETRY_POLICY, 1, () => i / steps))

  expect(delays.reduce((sum, delay) => sum + delay, 0) / steps).toBeCloseTo(750, -1)
  expect(new Set(delays).size).toBe(steps)
})
