/** A retry is fired a little ahead like everything else, and like everything else held until its instant. */
import { expect, test } from 'vitest'
import { silentLogger } from '../../src/runtime/logger.ts'
import { BlackoutBook } from '../../src/scheduler/blackout-book.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'
import { ShardLeases } from '../../src/scheduler/shard-leases.ts'
import { Definitions } from '../../src/store/definitions.ts'
import { sql } from '../../src/store/sql.ts'
import { PostgresTransport } from '../../src/transport/postgres-transport.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { Worker } from '../../src/worker/worker.ts'
import { aNode, endedRow, liveRow, tasksInAgenda } from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const RETRY_IN_MS = 8
const LOOKING = { lookEveryMs: 1_000, lookRows: 1_000, fireBatch: 1_000 }

test('a retry that is fired a little ahead does not begin before its instant', async () => {
  const { db } = await createTestDatabase()
  const nodeId = await aNode(db, ['scheduler', 'worker'])
  let now = Date.now()
  const clock = { now: () => now }
  const retryAt = now + RETRY_IN_MS
  const beganAt: number[] = []
  const parts = {
    nodeId,
    db,
    clock,
    log: silentLogger(),
    wakeUps: new LocalWakeUps(),
    definitions: new Definitions(db),
  }
  const worker = new Worker({
    ...parts,
    transport: new PostgresTransport(db),
    executor: {
      execute: async () => {
        beganAt.push(now)
        return { kind: 'completed', output: null }
      },
    },
    ...{ concurrency: 10, labels: [], graceMs: 0, claimEveryMs: 1_000, claimAhead: 0, cancelEveryMs: 1_000 },
  })
  const leases = new ShardLeases({ ...parts, beatMs: 60_000, takeoverMs: 60_000 })
  const scheduler = new Scheduler({
    ...parts,
    leases,
    worker,
    lookAheadMs: 10_000,
    carryOut: async () => {},
    blackouts: new BlackoutBook(parts),
    ...LOOKING,
  })
  await leases.runOnce()
  worker.start()
  whenDone(() => worker.stop())
  await eventually(async () => worker.room > 0)
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
