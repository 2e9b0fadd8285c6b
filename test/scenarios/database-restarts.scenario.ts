/** How soon a node recovers from restarts of its database, on a machine that does nothing else. `npm run suite restarts` runs it. */
import { expect, test } from 'vitest'
import { restartDatabase } from './database-restarts.ts'

/** As reliability asks for it: dispatch, and an empty backlog. */
const RECOVERED_WITHIN_MS = 5_000
/** A node that waits for its database is no storm to it. */
const MOST_TRIES_PER_SECOND = 50

test('after five immediate restarts of PostgreSQL nothing is overdue within five seconds', {
  timeout: 300_000,
}, async () => {
  const { dispatchMs, clearMs, failuresPerSecond } = await restartDatabase(5)

  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  process.stdout.write(
    `  five immediate restarts: dispatched after ${seconds(dispatchMs)}, nothing overdue after ${seconds(clearMs)}, ` +
      `${failuresPerSecond.toFixed(1)} tries a second meanwhile\n`,
  )
  expect(dispatchMs).toBeLessThan(RECOVERED_WITHIN_MS)
  expect(clearMs).toBeLessThan(RECOVERED_WITHIN_MS)
  expect(failuresPerSecond).toBeLessThan(MOST_TRIES_PER_SECOND)
})
