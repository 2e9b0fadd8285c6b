import { expect, test } from 'vitest'
import { flap } from '../../../bench/support/flapping-target.ts'

test('in a week with a flapping target a circuit saves nearly all futile attempts', () => {
  const week = { days: 7, tasks: 10, seed: 15 }

  const without = flap({ ...week, hasCircuit: false })
  const withCircuit = flap({ ...week, hasCircuit: true })

  for (const { runs, attempts, burnt, gaveUp } of [without, withCircuit]) {
    expect(runs).toBe(7 * 1_440 * 10)
    expect(attempts - burnt + gaveUp).toBe(runs)
  }
  expect(withCircuit.burnt).toBeLessThan(without.burnt / 20)
  expect(withCircuit.gaveUp).toBeLessThan(without.gaveUp / 50)
  // Up to five minutes until the next probe, and half a minute for one that hangs when the target comes back.
  expect(withCircuit.overdueSeconds).toBeLessThan(340)
})

test('the more tasks call a target, the fewer futile attempts each has', () => {
  const week = { days: 2, seed: 15, hasCircuit: true }

  const few = flap({ ...week, tasks: 5 })
  const many = flap({ ...week, tasks: 50 })

  expect(many.burnt / many.runs).toBeLessThan(few.burnt / few.runs / 3)
  expect(many.gaveUp).toBeLessThanOrEqual(few.gaveUp)
})
