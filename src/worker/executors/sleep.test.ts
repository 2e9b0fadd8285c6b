import { expect, test } from 'vitest'
import { sleep } from './sleep.ts'
import { anAttempt } from './test-support.ts'

test('a sleep never ends early', async () => {
  const elapsed = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const startedAt = performance.now()
      await sleep({ type: 'sleep', duration: `${index + 1}ms` }, anAttempt())
      return performance.now() - startedAt - (index + 1)
    }),
  )

  expect(Math.min(...elapsed)).toBeGreaterThanOrEqual(0)
})

test('a sleep of zero completes before any timer could fire', async () => {
  let timerFired = false
  const timer = setImmediate(() => {
    timerFired = true
  })

  const outcome = await sleep({ type: 'sleep', duration: '0s' }, anAttempt())

  expect(outcome).toEqual({ kind: 'completed', output: null })
  expect(timerFired).toBe(false)
  clearImmediate(timer)
})

test('a sleep ends as soon as its signal fires, however long it is', async () => {
  const abort = new AbortController()
  const startedAt = performance.now()
  const sleeping = sleep({ type: 'sleep', duration: '365d' }, anAttempt({ signal: abort.signal }))

  abort.abort()
  await sleeping

  expect(performance.now() - startedAt).toBeLessThan(30_000)
})

test('a sleep whose signal has already fired ends at once', async () => {
  const startedAt = performance.now()

  await sleep({ type: 'sleep', duration: '1h' }, anAttempt({ signal: AbortSignal.abort() }))

  expect(performance.now() - startedAt).toBeLessThan(30_000)
})

test('an invalid duration fails permanently', async () => {
  const outcome = await sleep({ type: 'sleep', duration: 'soon' }, anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'invalid_duration' } })
})
