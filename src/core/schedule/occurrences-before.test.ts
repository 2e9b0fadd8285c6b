import fc from 'fast-check'
import { expect, test } from 'vitest'
import { occurrencesBetween } from './occurrences.ts'
import { occurrencesBefore } from './occurrences-before.ts'
import type { Plan, Schedule } from './schedule.ts'

const planOf = (schedule: Schedule): Plan => ({ schedule, startAt: null, endAt: null, anchorAt: 7 })
const zoned = { timezone: 'Europe/Berlin', gap: 'next', fold: 'both' } as const
const schedules: Schedule[] = [
  { type: 'every', interval: '90s' },
  { type: 'every', interval: '7d' },
  { type: 'cron', expression: '*/20 * * * *', ...zoned },
  { type: 'cron', expression: '30 2 * * SUN', ...zoned },
  { type: 'daily', hour: 2, minute: 30, ...zoned },
  { type: 'once', at: '2026-03-29T12:00:00Z' },
  { type: 'manual' },
]
const DAY_MS = 86_400_000
const AROUND = Date.UTC(2026, 2, 29)

test('they are those of the stretch, the latest first', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...schedules),
      fc.integer({ min: AROUND - 3 * DAY_MS, max: AROUND + 3 * DAY_MS }),
      fc.integer({ min: 0, max: 5 * DAY_MS }),
      fc.integer({ min: 1, max: 50 }),
      (schedule, from, lengthMs, limit) => {
        const before = from + lengthMs
        const forwards = [...occurrencesBetween(planOf(schedule), from - 1, before - 1, 1e9)]

        expect(occurrencesBefore(planOf(schedule), { from, before, limit })).toEqual(
          forwards.reverse().slice(0, limit),
        )
      },
    ),
    { numRuns: 200 },
  )
})
