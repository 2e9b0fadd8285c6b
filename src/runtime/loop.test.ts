import { expect, onTestFinished, test, vi } from 'vitest'
import { whenDone } from '../../test/support/cleanup.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Loop } from './loop.ts'

/** Fails until the test lets it succeed. */
function aLoop() {
  const seen = { isFailing: true, failures: 0, passes: 0 }
  const loop = new Loop({
    name: 'test',
    everyMs: 60_000,
    log: silentLogger(),
    runOnce: async () => {
      if (seen.isFailing) {
        seen.failures++
        throw new Error('the database is gone')
      }
      seen.passes++
      return undefined
    },
  })
  loop.start()
  whenDone(() => loop.stop())
  return { loop, seen }
}

test('the first loop that succeeds again ends the pauses of all others that failed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const [first, second] = [aLoop(), aLoop()]
  await vi.advanceTimersByTimeAsync(30_000)
  const { failures } = second.seen
  first.seen.isFailing = false
  second.seen.isFailing = false

  first.loop.wake()
  // No time passes, so that no pause ends by itself.
  await vi.advanceTimersByTimeAsync(0)

  expect(failures).toBeGreaterThan(5)
  expect(first.seen.passes).toBe(1)
  expect(second.seen).toMatchObject({ passes: 1, failures })
})
