import { expect, test } from 'vitest'
import { Throughput } from './throughput.ts'

test('the rate is known within milliseconds and forgotten within a second', () => {
  let now = 5_000
  const throughput = new Throughput(() => now)
  for (let i = 0; i < 50; i++) throughput.count()

  expect(throughput.perSecond()).toBe(2_500)
  now += 500
  expect(throughput.perSecond()).toBeLessThan(110)
  now += 600
  expect(throughput.perSecond()).toBe(0)
})

test('a steady rate is measured as what it is', () => {
  let now = 0
  const throughput = new Throughput(() => now)
  for (let ms = 0; ms < 3_000; ms++, now++) throughput.count()

  expect(throughput.perSecond()).toBeGreaterThan(950)
  expect(throughput.perSecond()).toBeLessThan(1_050)
})
