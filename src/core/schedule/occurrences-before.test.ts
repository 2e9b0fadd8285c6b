import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { DAY_MS } from '../values/time-units.ts'
import { CronStepper } from './cron-stepper.ts'
import { occurrencesBetween } from './occurrences.ts'
import { latestBetween, occurrencesBefore } from './occurrences-before.ts'
import type { Plan, Schedule } from './schedule.ts'

/** Far fewer than the seconds of a month. */
const MOST_STEPS = 10_000
const planOf = (schedule: Schedule): Plan => ({ schedule, startAt: null, endAt: null, anchorAt: 7 })
const zoned = { timezone: 'Europe/Berlin', gap: 'next', fold: 'both' } as const
const schedules: Schedule[] = [
  { type: 'every', interval: '90s' },
  { type: 'every', interval: '7d' },
  { type: 'cron', expression: '*/20 * * * *', ...zoned },
  { type: 'cron', expression: '30 2 * * SUN', ...zoned },
  { type: 'daily', hour: 2, minute: 30, ...zoned },
  { type: 'once', at: '2026-03-29T12:00:00Z' },
  {
    type: 'several',
    triggers: [
      { type: 'every', interval: '17m' },
      { type: 'cron', expression: '* 4-5 * * * SUN', ...zoned },
    ],
  },
  { type: 'manual' },
]
const AROUND = Date.UTC(2026, 2, 29)

test('the occurrences of a period are listed from the latest', () => {
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

test('the latest of a stretch is the last one that stepping through it finds', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...schedules),
      fc.integer({ min: AROUND - 3 * DAY_MS, max: AROUND + 3 * DAY_MS }),
      fc.integer({ min: 0, max: 5 * DAY_MS }),
      (schedule, from, lengthMs) => {
        const to = from + lengthMs
        const forwards = [...occurrencesBetween(planOf(schedule), from - 1, to, 1e9)]

        expect(latestBetween(planOf(schedule), { from, to })).toBe(forwards.at(-1) ?? null)
      },
    ),
    { numRuns: 200 },
  )
})

test('a month of seconds that lies far back is not stepped through', () => {
  const triggers = Array.from(
    { length: 20 },
    (_, i) => ({ type: 'cron', expression: `${i}-59 * * * 1 *`, timezone: 'UTC' }) as const,
  )
  const plan = planOf({ type: 'several', triggers })
  const [from, before] = [Date.UTC(2026, 0, 1), Date.UTC(2026, 10, 17)]
  const last = Date.UTC(2026, 1, 1) - 1_000

  const steps = vi.spyOn(CronStepper.prototype, 'next')
  onTestFinished(() => steps.mockRestore())

  expect(occurrencesBefore(plan, { from, before, limit: 3 })).toEqual([last, last - 1_000, last - 2_000])
  expect(steps.mock.calls.length).toBeLessThan(MOST_STEPS)
})
