/** Claims that the database carried out and whose answer never came: for how long their runs are held by nobody who knows of them. */

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
import { whenDone } from '../../test/support/cleanup.ts'
import { steadyClock } from '../../test/support/clock.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { logsInMemory } from '../../test/support/logs.ts'
import { laneOf } from '../core/run/lane.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { firePlain } from '../store/agenda/fire-plain.ts'
import { registerLanes } from '../store/queues/queues.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Definitions } from '../transport/definitions.ts'
import { PostgresTransport } from '../transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import type { Executor } from './executor.ts'
import { Worker } from './worker.ts'

const { db } = await createTestDatabase()

/** The time that passes from one lost answer to the next. */
const STEP_MS = 4_000
/** What the architecture promises of the answer to a claim that was lost. */
const PROMISED_MS = 20_000

async function aWaitingRun(): Promise<string> {
  await db.run(registerLanes([laneOf(DEFAULT_PROJECT_ID, aDefinition())]))
  const [task] = await tasksInAgenda(db)
  const nodeId = await aNode(db, ['scheduler'])
  const shards = await ownShards(db, nodeId)
  const runId = task?.runId ?? ''
  await db.run(firePlain({ nodeId, shards, workerId: null, rows: [await dueRow(db, runId)] }))
  return runId
}

/**
 * A worker that loses the answer to its first claim if `losesFirst` is set. From that claim on, its clock moves only when the test
 * lets time pass, so that a slow machine gives it no more of it.
 */
async function aWorker({ losesFirst, execute }: { losesFirst: boolean; execute: Executor['execute'] }) {
  const time = { passedMs: 0, claimedAt: null as number | null }
  let claims = 0
  const transport = new PostgresTransport(db)
  const worker = new Worker({
    nodeId: await aNode(db),
    ...anyTargets(),
    db,
    transport: {
      claim: async (request) => {
        const answer = await transport.claim(request)
        time.claimedAt ??= Date.now()
        if (++claims === 1 && losesFirst) throw new Error('Connection terminated unexpectedly')
        return answer
      },
      claimGated: (request) => transport.claimGated(request),
    },
    wakeUps: new LocalWakeUps(),
    definitions: new Definitions(db),
    executor: { execute },
    clock: steadyClock(() => (time.claimedAt ?? Date.now()) + time.passedMs),
    log: silentLogger(),
    logs: logsInMemory(),
    concurrency: 10,
    labels: () => [],
    claimEveryMs: 20,
    claimAhead: 0,
    cancelEveryMs: 1_000,
    graceMs: 0,
  })
  worker.start()
  whenDone(() => worker.stop())
  await eventually(async () => claims > 0)
  /** Lets time pass, loses another answer, and waits for a pass that began after that. */
  const pass = async (ms: number) => {
    time.passedMs += ms
    worker.local.doubt()
    const before = claims
    await eventually(async () => claims >= before + 2)
  }
  return { pass }
}

test('a run whose claim answer was lost is handed back in time, however many answers are lost later', async () => {
  const runId = await aWaitingRun()
  const begun: { attempt: number; fence: number }[] = []
  const { pass } = await aWorker({
    losesFirst: true,
    execute: async (_, { attempt, fence }) => {
      begun.push({ attempt, fence })
      return { kind: 'completed', output: null }
    },
  })
  expect(await liveRow(db, runId)).toMatchObject({ state: 'running', attempt: 1 })

  for (let passedMs = 0; passedMs < PROMISED_MS; passedMs += STEP_MS) await pass(STEP_MS)

  // Handed back as if it had never been claimed, and claimed again.
  await eventually(async () => begun.length > 0)
  expect(begun).toMatchObject([{ attempt: 1 }])
})

test('a run that the worker knows continues while lost claims are searched for', async () => {
  const runId = await aWaitingRun()
  let begun = 0
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const { pass } = await aWorker({
    losesFirst: false,
    execute: async () => {
      begun++
      await finished
      return { kind: 'completed', output: null }
    },
  })
  await eventually(async () => begun === 1)

  for (let passedMs = 0; passedMs < 2 * PROMISED_MS; passedMs += STEP_MS) await pass(STEP_MS)
  finish()

  expect(await eventually(() => endedRow(db, runId))).toMatchObject({ state: 'completed' })
  expect(begun).toBe(1)
})
