/** A worker that stops while the database does not answer: what is in progress may finish, and what has not begun is handed back. */
import { expect, test } from 'vitest'
import {
  aDefinition,
  aNode,
  dueRow,
  endedRow,
  liveRow,
  ownShards,
  tasksInAgenda,
} from '../../test/support/agenda.ts'
import { anyTargets } from '../../test/support/any-targets.ts'
import { steadyClock } from '../../test/support/clock.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { failingDatabase } from '../../test/support/failing-database.ts'
import { logsInMemory } from '../../test/support/logs.ts'
import { laneOf } from '../core/run/lane.ts'
import type { Outcome } from '../core/run/outcome.ts'
import type { KeptDefinition } from '../core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { firePlain } from '../store/agenda/fire-plain.ts'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import { registerLanes } from '../store/queues/queues.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Definitions } from '../transport/definitions.ts'
import { LOCAL } from '../transport/local-worker.ts'
import { PostgresTransport } from '../transport/postgres/postgres-transport.ts'
import type { Work } from '../transport/transport.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import { Worker } from './worker.ts'

const { db } = await createTestDatabase()

/** How many statements are to fail, and how many have. */
const outage = { statements: 0, failed: 0 }
const failing = failingDatabase(db, () => {
  if (outage.statements === 0) return undefined
  outage.statements--
  outage.failed++
  return new Error('the database system is shutting down')
})

test('a worker that stops during an outage finishes its running attempt and hands back the other', async () => {
  await db.run(registerLanes([laneOf(DEFAULT_PROJECT_ID, aDefinition())]))
  const nodeId = await aNode(db, ['scheduler', 'worker'])
  const shards = await ownShards(db, nodeId)
  const [performed, early] = await tasksInAgenda(db, { count: 2 })
  const rows = await Promise.all([performed, early].map((task) => dueRow(db, task?.runId ?? '')))
  await db.run(firePlain({ nodeId, shards, workerId: nodeId, rows }))
  let finish: ((outcome: Outcome) => void) | undefined
  const worker = new Worker({
    nodeId,
    ...anyTargets(),
    db: failing,
    transport: new PostgresTransport(db),
    wakeUps: new LocalWakeUps(),
    definitions: new Definitions(db),
    executor: {
      execute: () =>
        new Promise<Outcome>((resolve) => {
          finish = resolve
        }),
    },
    clock: steadyClock(),
    log: silentLogger(),
    logs: logsInMemory(),
    concurrency: 2,
    claimAhead: 0,
    labels: () => [],
    graceMs: 20_000,
    claimEveryMs: 60_000,
    cancelEveryMs: 60_000,
  })
  worker.start()
  await eventually(async () => worker.local.reserve(LOCAL, 2).free === 2)
  // The second is held until its instant, which is a minute away.
  worker.local.begin(rows.map((row, i) => ({ work: workOf(row, i * 60_000), line: LOCAL })))
  await eventually(async () => finish !== undefined)

  outage.statements = 1
  const stopped = worker.stop()
  await eventually(async () => outage.failed === 1)
  finish?.({ kind: 'completed', output: null })
  await stopped

  expect(await endedRow(db, performed?.runId ?? '')).toMatchObject({ state: 'completed' })
  expect(await liveRow(db, early?.runId ?? '')).toMatchObject({ state: 'pending', attempt: 0 })
})

/** A fired row as the scheduler of the same process gives it to the worker. */
const workOf = (
  { runId, taskId, version, scheduledFor, fence, attempt, losses, lane }: DueRow,
  inMs: number,
): Work => ({
  ...{ runId, taskId, version, scheduledFor, losses, lane },
  wakeAt: Date.now() + inMs,
  fence: fence + 1,
  attempt: attempt + 1,
  definition: aDefinition() as KeptDefinition,
})
