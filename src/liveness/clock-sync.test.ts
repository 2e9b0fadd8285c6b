import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { failingDatabase } from '../../test/support/failing-database.ts'
import { DatabaseClock } from '../runtime/clock.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { ClockSync } from './clock-sync.ts'

const { db } = await createTestDatabase()

/** A clock of which the first readings fail, as if each took longer than a reading may. */
function aClock(failures: number) {
  let left = failures
  const tooLong = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' })
  const clock = new DatabaseClock()
  const sync = new ClockSync({
    db: failingDatabase(db, () => (left-- > 0 ? tooLong : undefined)),
    clock,
    log: silentLogger(),
    record: async () => {},
  })
  return { clock, sync }
}

test('a node starts even if most of its first readings of the clock take too long', async () => {
  const { clock, sync } = aClock(4)

  await sync.start()
  await sync.stop()

  expect(clock.isSet).toBe(true)
})

test('a node does not start without any reading of the clock', async () => {
  const { clock, sync } = aClock(Number.POSITIVE_INFINITY)

  await expect(sync.start()).rejects.toThrow('statement timeout')

  expect(clock.isSet).toBe(false)
})
