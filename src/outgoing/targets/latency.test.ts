import { expect, test } from 'vitest'
import { LatencyHistogram } from './latency.ts'

const around = (expected: number, percentile: number | null) => {
  expect(percentile).toBeGreaterThan(expected * 0.85)
  expect(percentile).toBeLessThan(expected * 1.15)
}

test('percentiles are accurate to about a tenth', () => {
  const latency = new LatencyHistogram()
  for (let ms = 1; ms <= 1_000; ms++) latency.add(ms)

  around(500, latency.percentile(0.5))
  around(950, latency.percentile(0.95))
  around(990, latency.percentile(0.99))
})

test('there are no percentiles before the first response', () => {
  expect(new LatencyHistogram().percentile(0.5)).toBeNull()
})

test('old latencies lose their weight', () => {
  const latency = new LatencyHistogram()
  for (let i = 0; i < 10_000; i++) latency.add(5)
  for (let i = 0; i < 10_000; i++) latency.add(800)

  around(800, latency.percentile(0.01))
})

test('extremely short and long latencies are counted too', () => {
  const latency = new LatencyHistogram()
  latency.add(0)
  latency.add(1e12)

  expect(latency.percentile(0.5)).toBe(1)
  expect(latency.percentile(1)).toBeGreaterThan(3_600_000)
})
