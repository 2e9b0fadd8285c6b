import { expect, test } from 'vitest'
import { DatabaseClock } from './clock.ts'

test('the estimate is never ahead of the database, however slow the answers are', () => {
  let monotonic = 1_000
  const clock = new DatabaseClock(() => monotonic)
  const databaseNow = () => monotonic + 500_000

  for (const tripMs of [40, 3, 90, 12]) {
    const said = databaseNow()
    monotonic += tripMs
    clock.observe(said)
    expect(clock.now()).toBeLessThanOrEqual(databaseNow())
  }

  expect(databaseNow() - clock.now()).toBe(3)
})

test('a clock that was set is reported as a step and followed at once', () => {
  let monotonic = 0
  const clock = new DatabaseClock(() => monotonic)
  clock.observe(1_000_000)
  monotonic += 10

  expect(clock.observe(1_000_010 + 3_600_000)).toEqual({ kind: 'step', byMs: 3_600_000 })
  expect(clock.now()).toBe(1_000_010 + 3_600_000)
  expect(clock.observe(1_000_010)).toEqual({ kind: 'step', byMs: -3_600_000 })
  expect(clock.now()).toBe(1_000_010)
})
