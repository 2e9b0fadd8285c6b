/** One scheduler and one worker that go a step when a test says so, on a database of the test's own. */

import type { Clock } from '../../src/runtime/clock.ts'
import { BlackoutBook } from '../../src/scheduler/blackout-book.ts'
import { Scheduler } from '../../src/scheduler/scheduler.ts'
import { ShardLeases } from '../../src/scheduler/shard-leases.ts'
import type { Database } from '../../src/store/database/database.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { Definitions } from '../../src/transport/definitions.ts'
import { LOCAL } from '../../src/transport/local-worker.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import type { Executor } from '../../src/worker/executor.ts'
import { Worker } from '../../src/worker/worker.ts'
import { aNode } from './agenda.ts'
import { anyTargets } from './any-targets.ts'
import { whenDone } from './cleanup.ts'
import { steadyClock } from './clock.ts'
import { eventually } from './eventually.ts'
import { logsInMemory } from './logs.ts'

/** The scheduler's loops are not started: what it reads and fires, and when, is up to the test. */
export async function anEngine(
  db: Database,
  {
    clock,
    execute,
    definitions = new Definitions(db),
  }: { clock: Clock; execute: Executor['execute']; definitions?: Definitions },
): Promise<Scheduler> {
  const parts = {
    nodeId: await aNode(db, ['scheduler', 'worker']),
    db,
    clock: steadyClock(() => clock.now()),
    log: silentLogger(),
    wakeUps: new LocalWakeUps(),
    definitions,
  }
  const worker = new Worker({
    ...parts,
    ...anyTargets(),
    transport: new PostgresTransport(db),
    executor: { execute },
    logs: logsInMemory(),
    ...{
      concurrency: 10,
      labels: () => [],
      graceMs: 0,
      claimEveryMs: 1_000,
      claimAhead: 0,
      cancelEveryMs: 1_000,
    },
  })
  const leases = new ShardLeases({ ...parts, beatMs: 60_000, takeoverMs: 60_000 })
  const scheduler = new Scheduler({
    ...parts,
    leases,
    worker: worker.local,
    carryOut: async () => {},
    blackouts: new BlackoutBook(parts),
    ...{ lookAheadMs: 10_000, lookEveryMs: 1_000, lookRows: 1_000, fireBatch: 1_000, misfireGraceMs: 10_000 },
  })
  await leases.runOnce()
  worker.start()
  whenDone(() => worker.stop())
  await eventually(async () => worker.local.room(LOCAL) > 0)
  return scheduler
}
