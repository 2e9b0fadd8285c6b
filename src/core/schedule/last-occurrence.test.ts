import { expect, onTestFinished, test, vi } from 'vitest'
import { atOnce } from '../values/steps.ts'
import { CronStepper } from './cron-stepper.ts'
import { lastOccurrence, lastOccurrences } from './last-occurrence.ts'
import { dueAt, occurrencesBetween } from './occurrences.ts'
import type { Plan } from './schedule.ts'

const plan: Plan = {
  schedule: { type: 'cron', expression: '*/10 * * * * *', timezone: 'UTC' },
  startAt: null,
  endAt: null,
  anchorAt: 0,
  seed: 'a',
}
/** Far fewer than the seconds of a month. */
const MOST_STEPS = 10_000
const FROM = Date.UTC(2026, 0, 1)
const jittered: Plan = { ...plan, jitterMs: 9_000 }

test.each([plan, jittered])('the last occurrences equal those found by stepping through all', (each) => {
  for (let to = FROM + 1; to < FROM + 120_000; to += 777) {
    const due = [...occurrencesBetween(each, FROM - 1, to, 1e9)].filter((at) => dueAt(each, at) <= to)

    expect(lastOccurrence(each, { from: FROM, to })).toBe(due.at(-1) ?? FROM)
    expect(atOnce(lastOccurrences(each, { from: FROM, to, limit: 5 }))).toEqual(due.slice(-5))
  }
})

test('the last occurrence of a distant month is found without stepping through its seconds', () => {
  const january: Plan = { ...plan, schedule: { type: 'cron', expression: '* * * * 1 *', timezone: 'UTC' } }
  const steps = vi.spyOn(CronStepper.prototype, 'next')
  onTestFinished(() => steps.mockRestore())

  expect(lastOccurrence(january, { from: FROM, to: Date.UTC(2026, 10, 17) })).toBe(
    Date.UTC(2026, 1, 1) - 1_000,
  )

  expect(steps.mock.calls.length).toBeLessThan(MOST_STEPS)
})
