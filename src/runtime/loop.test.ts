import { expect, test } from 'vitest'
import { whenDone } from '../../test/support/cleanup.ts'
import { eventually } from '../../test/support/eventually.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Loop } from './loop.ts'

/** Fails for as long as it is told to. */
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
  const [first, second] = [aLoop(), aLoop()]
  // By then both rest for more than a second after each failure.
  await eventually(async () => first.seen.failures >= 5 && second.seen.failures >= 5)
  const { failures } = second.seen
  first.seen.isFailing = false
  second.seen.isFailing = false

  first.loop.wake()

  const began = performance.now()
  await eventually(async () => first.seen.passes === 1 && second.seen.passes === 1, { everyMs: 1 })
  expect(performance.now() - began).toBeLessThan(1_500)
  expect(second.seen.failures).toBe(failures)
})
