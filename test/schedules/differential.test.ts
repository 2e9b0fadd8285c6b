/** A slice of what `npm run suite schedules` compares a million times. A failure prints what replays it. */
import { expect, test } from 'vitest'
import { compareWithOracle, ZONES } from './differential.ts'

const { BELFRY_TEST_SEED = String(Date.now() % 1_000_000) } = process.env

test('schedules fire at the instants of the oracle, in time zones of all kinds', { timeout: 240_000 }, () => {
  const seed = Number(BELFRY_TEST_SEED)

  const { cases, zones, fires, mismatches } = compareWithOracle({ cases: 3_000, seed })

  expect(mismatches, `seed ${seed}`).toEqual([])
  expect(cases).toBe(3_000)
  expect(zones).toBeGreaterThan(25)
  expect(fires).toBeGreaterThan(3_000)
})

test('the comparison includes all time zones', () => {
  expect(ZONES.length).toBeGreaterThan(400)
  expect(ZONES).toContain('UTC')
})
