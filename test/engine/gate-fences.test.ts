/** Places behind gates: each statement that takes one counts it, each that ends a lease gives back both, once. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { laneOf } from '../../src/core/run/lane.ts'
import type { TaskDefinition } from '../../src/core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { firePlain } from '../../src/store/agenda/fire-plain.ts'
import { type Ending, endPlainRuns, endRuns } from '../../src/store/agenda/outcomes.ts'
import { retryRuns } from '../../src/store/agenda/retries.ts'
import { sql } from '../../src/store/database/sql.ts'
import { handBackRuns, type LeasedRun, reclaimRuns } from '../../src/store/nodes/leased-runs.ts'
import { declareDead } from '../../src/store/nodes/nodes.ts'
import { setQueueLimit } from '../../src/store/queues/queue-limits.ts'
import { registerLanes } from '../../src/store/queues/queues.ts'
import { cancelRuns, lockRuns } from '../../src/store/tasks/cancel.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { aDefinition, aNode, dueRow, endedRow, liveRow, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { gatesOf } from '../support/limits.ts'

const { db } = await createTestDatabase()
const transport = new PostgresTransport(db)
let queues = 0

/** A queue of this name's own with a limit. */
async function aLimitedQueue(limit: number): Promise<string> {
  const queue = `queue-${queues++}`
  await db.run(registerLanes([laneOf(DEFAULT_PROJECT_ID, aDefinition({ queue }))]))
  await db.run(setQueueLimit({ projectId: DEFAULT_PROJECT_ID, name: queue, limit }))
  return queue
}

/** Runs that wait in ready; answers the lane they wait in. */
async function waiting(count: number, definition: Partial<TaskDefinition>): Promise<number> {
  const lane = laneOf(DEFAULT_PROJECT_ID, aDefinition(definition))
  await db.run(registerLanes([lane]))
  const tasks = await tasksInAgenda(db, { count, definition })
  const nodeId = await aNode(db, ['scheduler'])
  const shards = await ownShards(db, nodeId)
  const rows = await Promise.all(tasks.map(({ runId }) => dueRow(db, runId)))
  await db.run(firePlain({ nodeId, shards, workerId: null, rows }))
  return lane.id
}

/** Connections that wait for somebody's lock. */
const BLOCKED = sql`
  select pid from pg_stat_activity
  where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`

const heldIn = async (queue: string) =>
  (await gatesOf(db))
    .filter((gate) => gate.queue === queue)
    .map(({ key, held, holders }) => ({ key, held, holders }))
    .sort((a, b) => (a.key ?? '').localeCompare(b.key ?? ''))

/** A run that holds a place of its key and one of its queue. */
async function aRunThatHoldsTwo() {
  const queue = await aLimitedQueue(2)
  const lane = await waiting(1, { queue, concurrencyKey: 'k' })
  const { runs } = await transport.claimGated({ workerId: await aNode(db), lanes: [lane], limit: 5 })
  const [run] = runs
  if (!run) throw new Error('nothing was claimed')
  return { queue, run }
}

const attempt = { startedAt: Date.now(), endedAt: Date.now(), output: null, error: null }
const end = ({ runId, fence }: LeasedRun): Ending => ({
  ...attempt,
  runId,
  fence,
  state: 'completed',
  outcome: 'completed',
  nextRunId: null,
})

test.each<[string, (held: LeasedRun) => Promise<unknown>]>([
  ['an end', (held) => db.run(endRuns([end(held)]))],
  ['a retry', (held) => db.run(retryRuns([{ ...attempt, ...held, outcome: 'failed', retryAt: Date.now() }]))],
  ['a reclaim', (held) => db.run(reclaimRuns([held]))],
  ['a handing back', (held) => db.run(handBackRuns([held]))],
])('%s frees both slots once, and none with a stale fence', async (_, statement) => {
  const { queue, run } = await aRunThatHoldsTwo()
  expect(run.holdsPlace).toBe(true)
  const taken = (held: number) => [null, 'k'].map((key) => ({ key, held, holders: held }))

  await statement({ runId: run.runId, fence: run.fence - 1 })
  expect(await heldIn(queue)).toEqual(taken(1))

  await Promise.all([1, 2, 3].map(() => statement({ runId: run.runId, fence: run.fence })))
  expect(await heldIn(queue)).toEqual(taken(0))
})

test('a plain end leaves a run with a queue slot unchanged and reports it as left', async () => {
  const queue = await aLimitedQueue(1)
  const lane = await waiting(1, { queue })
  const { runs } = await transport.claimGated({ workerId: await aNode(db), lanes: [lane], limit: 1 })
  const [run] = runs

  const [result] = await db.run(
    endPlainRuns([
      { runId: run?.runId ?? '', fence: run?.fence ?? 0, startedAt: 1, endedAt: 2, output: null },
    ]),
  )

  expect(result?.left).toEqual([run?.runId])
  expect(await heldIn(queue)).toEqual([{ key: null, held: 1, holders: 1 }])
})

test('a worker that was declared dead claims no run behind a gate and uses no slot', async () => {
  const queue = await aLimitedQueue(2)
  const lane = await waiting(1, { queue, concurrencyKey: 'k' })
  const workerId = await aNode(db)
  await db.run(declareDead({ nodeId: workerId, beat: null, reason: 'lost' }))

  const claim = await transport.claimGated({ workerId, lanes: [lane], limit: 5 })

  expect(claim).toEqual({ runs: [], isShort: false })
  expect((await heldIn(queue)).map(({ held }) => held)).toEqual([0, 0])
})

test('concurrent claims together get as many runs as the limits of the queue and the key allow', async () => {
  const queue = await aLimitedQueue(20)
  const lanes = [
    await waiting(30, { queue }),
    await waiting(30, { queue, onWorkerLoss: 'fail' }),
    await waiting(30, { queue, concurrencyKey: 'k', concurrencyLimit: 4 }),
  ]
  const workers = await Promise.all(Array.from({ length: 8 }, () => aNode(db)))

  const claimAll = () =>
    Promise.all(workers.map((workerId) => transport.claimGated({ workerId, lanes, limit: 3 })))
  let claims = await claimAll()
  while (claims.some(({ runs, isShort }) => runs.length > 0 || isShort)) {
    for (const { runs } of claims) expect(runs.length).toBeLessThanOrEqual(3)
    if ((await heldIn(queue))[0]?.held === 20) break
    claims = await claimAll()
  }

  const [whole, key] = await heldIn(queue)
  expect(whole).toEqual({ key: null, held: 20, holders: 20 })
  expect(key?.held).toBe(key?.holders)
  expect(key?.held).toBeLessThanOrEqual(4)
})

test('a claim skips a locked gate and reports that it was short', async () => {
  const queue = await aLimitedQueue(2)
  const lane = await waiting(1, { queue, concurrencyKey: 'k' })
  const workerId = await aNode(db)
  const claim = () => transport.claimGated({ workerId, lanes: [lane], limit: 5 })

  const whileLocked = await db.transaction(async (tx) => {
    await tx.run(sql`select id from gate where queue = ${queue} and key is null for update`)
    return claim()
  })

  expect(whileLocked).toEqual({ runs: [], isShort: true })
  expect(await claim()).toMatchObject({ runs: [{ attempt: 1 }], isShort: false })
})

test('a claim that takes stale rows of ready reports that it was short', async () => {
  const queue = await aLimitedQueue(1)
  const lane = await waiting(1, { queue })
  await db.run(
    sql`insert into ready (lane, priority, wake_at, run_id) values (${lane}, -1, now(), gen_random_uuid())`,
  )
  const workerId = await aNode(db)
  const claim = () => transport.claimGated({ workerId, lanes: [lane], limit: 5 })

  expect(await claim()).toEqual({ runs: [], isShort: true })
  expect(await heldIn(queue)).toEqual([{ key: null, held: 0, holders: 0 }])
  expect((await claim()).runs).toHaveLength(1)
})

test('a run uses the slots of the lane that it waited in, even after an edit moved it to another queue', async () => {
  const queue = await aLimitedQueue(5)
  const elsewhere = await aLimitedQueue(1)
  const lane = await waiting(1, { queue, concurrencyKey: 'k' })
  const other = laneOf(DEFAULT_PROJECT_ID, aDefinition({ queue: elsewhere, concurrencyKey: 'k' }))
  await db.run(registerLanes([other]))
  await db.run(sql`update agenda set lane = ${other.id} where lane = ${lane}`)

  const { runs } = await transport.claimGated({ workerId: await aNode(db), lanes: [lane], limit: 5 })

  expect((await heldIn(queue)).map(({ held }) => held)).toEqual([1, 1])
  expect((await heldIn(elsewhere)).map(({ held }) => held)).toEqual([0, 0])
  await db.run(endRuns(runs.map(end)))
  expect((await heldIn(queue)).map(({ held }) => held)).toEqual([0, 0])
  expect(await liveRow(db, runs[0]?.runId ?? '')).toBeUndefined()
})

test('setting a limit twice counts running runs once, and lifting it keeps the count correct', async () => {
  const queue = await aLimitedQueue(3)
  const lane = await waiting(2, { queue })
  const { runs } = await transport.claimGated({ workerId: await aNode(db), lanes: [lane], limit: 5 })
  const limit = (places: number | null) =>
    db.run(setQueueLimit({ projectId: DEFAULT_PROJECT_ID, name: queue, limit: places }))

  await limit(null)
  await Promise.all([limit(1), limit(7), limit(2)])
  expect(await heldIn(queue)).toEqual([{ key: null, held: 2, holders: 2 }])
  await limit(null)
  await db.run(endRuns(runs.map(end)))

  expect(await heldIn(queue)).toEqual([{ key: null, held: 0, holders: 0 }])
})

test('a cancel and a claim of the same run do not deadlock', async () => {
  const queue = await aLimitedQueue(1)
  const lane = await waiting(1, { queue })
  const workerId = await aNode(db)
  const [run] = await db.run(sql<{ runId: string; taskId: string }>`
    select run_id as "runId", task_id as "taskId" from agenda where lane = ${lane}`)
  if (!run) throw new Error('nothing waits')

  const claim = await db.transaction(async (tx) => {
    await tx.run(lockRuns({ taskId: run.taskId, runId: run.runId }))
    const claiming = transport.claimGated({ workerId, lanes: [lane], limit: 1 })
    await eventually(async () => (await db.run(BLOCKED)).length > 0)
    await tx.run(cancelRuns({ taskId: run.taskId, runId: run.runId, nextRunId: uuidv7() }))
    return { answered: claiming }
  })

  expect(await claim.answered).toEqual({ runs: [], isShort: true })
  expect(await endedRow(db, run.runId)).toMatchObject({ state: 'cancelled' })
  expect(await heldIn(queue)).toEqual([{ key: null, held: 0, holders: 0 }])
})
