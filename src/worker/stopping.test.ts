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
import { logsInMemory } from '../../test/support/logs.ts'
import { laneOf } from '../core/run/lane.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { firePlain } from '../store/agenda/agenda.ts'
import type { Database } from '../store/database/database.ts'
import type { Statement } from '../store/database/sql.ts'
import { registerLanes } from '../store/queues/queues.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Definitions } from '../transport/definitions.ts'
import { PostgresTransport } from '../transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import { Worker } from './worker.ts'

const { db } = await createTestDatabase()

/** The same database, which fails as often as it is told to. */
const outage = { statements: 0, failed: 0 }
const failing = new Proxy(db, {
  get: (target, name) => {
    const value = Reflect.get(target, name, target)
    if (name !== 'run') return typeof value === 'function' ? value.bind(target) : value
    return <Row>(statement: Statement<Row>) => {
      if (outage.statements === 0) return target.run(statement)
      outage.statements--
      outage.failed++
      return Promise.reject(new Error('the database system is shutting down'))
    }
  },
}) as Database

test('an outage while a worker stops neither cuts off what it performs nor keeps what it has not begun', async () => {
  await db.run(registerLanes([laneOf(DEFAULT_PROJECT_ID, aDefinition())]))
  const tasks = await tasksInAgenda(db, { count: 2 })
  const nodeId = await aNode(db, ['scheduler'])
  const shards = await ownShards(db, nodeId)
  const rows = await Promise.all(tasks.map(({ runId }) => dueRow(db, runId)))
  await db.run(firePlain({ nodeId, shards, workerId: null, rows }))
  let finish: (outcome: Outcome) => void = () => {}
  const worker = new Worker({
    nodeId: await aNode(db),
    ...anyTargets(),
    db: failing,
    transport: new PostgresTransport(db),
    wakeUps: new LocalWakeUps(),
    definitions: new Definitions(db),
    executor: { execute: () => new Promise<Outcome>((resolve) => (finish = resolve)) },
    clock: steadyClock(),
    log: silentLogger(),
    logs: logsInMemory(),
    ...{
      concurrency: 1,
      claimAhead: 10,
      labels: () => [],
      graceMs: 20_000,
      claimEveryMs: 100,
      cancelEveryMs: 60_000,
    },
  })
  worker.start()
  const statesOf = async () =>
    (await Promise.all(tasks.map(({ runId }) => liveRow(db, runId)))).map((row) => row?.state)
  await eventually(async () => (await statesOf()).every((state) => state === 'running'))

  outage.statements = 1
  const stopped = worker.stop()
  await eventually(async () => outage.failed === 1 && (await statesOf()).includes('pending'))
  finish({ kind: 'completed', output: null })
  await stopped

  const ended = await Promise.all(tasks.map(({ runId }) => endedRow(db, runId)))
  expect(ended.map((row) => row?.state).sort()).toEqual(['completed', undefined])
  expect((await statesOf()).sort()).toEqual(['pending', undefined])
})
