import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addBuckets, LATENESS_BOUNDS, type LatenessBuckets, latenessAt } from './lateness.ts'

/** The bucket of a value, as the database's width_bucket has it. */
const bucketOf = (ms: number) => LATENESS_BOUNDS.filter((bound) => bound <= ms).length
const bucketsOf = (values: readonly number[]): LatenessBuckets =>
  addBuckets(values.map((value) => ({ [bucketOf(value)]: 1 })))

const lateness = fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 5_000 }), fc.nat({ max: 80_000_000 }))

test('a percentile lies in the bucket that the true one lies in', () => {
  fc.assert(
    fc.property(fc.array(lateness, { minLength: 1 }), fc.constantFrom(0.5, 0.9, 0.99, 1), (values, share) => {
      const sorted = values.toSorted((a, b) => a - b)
      const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0

      const estimate = latenessAt(bucketsOf(values), share) ?? -1

      const bucket = bucketOf(exact)
      expect(estimate).toBeGreaterThanOrEqual(bucket === 0 ? 0 : (LATENESS_BOUNDS[bucket - 1] ?? 0))
      expect(estimate).toBeLessThanOrEqual(LATENESS_BOUNDS[bucket] ?? LATENESS_BOUNDS.at(-1) ?? 0)
    }),
  )
})

test('buckets of several stretches add up to those of all of them', () => {
  fc.assert(
    fc.property(fc.array(fc.array(lateness)), (stretches) => {
      expect(addBuckets(stretches.map(bucketsOf))).toEqual(bucketsOf(stretches.flat()))
    }),
  )
})

test('the bounds increase, and empty buckets have no percentile', () => {
  expect(LATENESS_BOUNDS).toEqual(LATENESS_BOUNDS.toSorted((a, b) => a - b))
  expect(new Set(LATENESS_BOUNDS).size).toBe(LATENESS_BOUNDS.length)
  expect(latenessAt({}, 0.5)).toBeNull()
})
