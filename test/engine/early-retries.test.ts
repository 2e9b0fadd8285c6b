/** A retry is fired a little ahead like everything else, and like everything else held until its instant. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { endedRow, liveRow, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { anEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

const RETRY_IN_MS = 8

test('a retry that is fired slightly ahead does not start before its instant', async () => {
  const { db } = await createTestDatabase()
  let now = Date.now()
  const retryAt = now + RETRY_IN_MS
  const beganAt: number[] = []
  const scheduler = await anEngine(db, {
    clock: { now: () => now },
    execute: async () => {
      beganAt.push(now)
      return { kind: 'completed', output: null }
    },
  })
  const [task] = await tasksInAgenda(db, { dueAt: now - 60_000 })
  const runId = task?.runId as string
  await db.run(sql`
    update agenda set state = 'retrying', attempt = 1, fence = 1, wake_at = to_timestamp(${retryAt}::float8 / 1000) where run_id = ${runId}`)

  await scheduler.readAhead()
  await scheduler.fireDue()
  expect((await liveRow(db, runId))?.state ?? 'ended').not.toBe('retrying')
  now = retryAt
  await eventually(async () => endedRow(db, runId))

  expect(beganAt).toEqual([retryAt])
})
