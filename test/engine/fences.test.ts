/** Whoever no longer holds what it believes to hold changes nothing: one test for each statement that writes. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { type FireRequest, fire, JUST_RUN } from '../../src/store/agenda/fire.ts'
import { firePlain, fireRecurring } from '../../src/store/agenda/fire-plain.ts'
import type { DueRow } from '../../src/store/agenda/look-ahead.ts'
import { endPlainRuns, endRuns } from '../../src/store/agenda/outcomes.ts'
import { retryRuns } from '../../src/store/agenda/retries.ts'
import { takeShards } from '../../src/store/agenda/shards.ts'
import { sql } from '../../src/store/database/sql.ts'
import { handBackRuns, reclaimRuns } from '../../src/store/nodes/leased-runs.ts'
import { declareDead } from '../../src/store/nodes/nodes.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { aNode, completed, dueRow, endedRow, liveRow, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'

const { db } = await createTestDatabase()
const transport = new PostgresTransport(db)

/** A run that a worker holds, and the fence it holds it by. */
async function aRunningRun() {
  const [task] = await tasksInAgenda(db)
  const runId = task?.runId as string
  const workerId = await aNode(db)
  const nodeId = await aNode(db, ['scheduler'])
  const shards = await ownShards(db, nodeId)
  const row = await dueRow(db, runId)
  await db.run(firePlain({ nodeId, shards, workerId, rows: [row] }))
  return { runId, workerId, fence: row.fence + 1 }
}

const plainly = ({ firings, ...request }: FireRequest) =>
  firePlain({ ...request, rows: firings.map(({ row }) => row) })

const retry = (runId: string, fence: number) => ({
  runId,
  fence,
  outcome: 'failed' as const,
  startedAt: Date.now(),
  endedAt: Date.now(),
  retryAt: Date.now(),
  output: null,
  error: { code: 'x', message: 'x' },
})

test.each([
  ['rows that just run', plainly],
  ['rows of any kind', fire],
])('a scheduler that lost its shard fires nothing: %s', async (_, statement) => {
  const [task] = await tasksInAgenda(db)
  const runId = task?.runId as string
  const [old, successor, workerId] = [await aNode(db), await aNode(db), await aNode(db)]
  const staleShards = await ownShards(db, old)
  await ownShards(db, successor)

  const row = await dueRow(db, runId)
  const [result] = await db.run(
    statement({
      nodeId: old,
      shards: staleShards,
      workerId,
      firings: [{ row, decision: JUST_RUN, startNow: true }],
    }),
  )

  expect(result?.gone).toEqual([runId])
  expect(result?.lost).toContain(row.shard)
  expect(await liveRow(db, runId)).toMatchObject({ state: 'scheduled', fence: 0, workerId: null })
})

test.each([
  ['rows that just run', plainly],
  ['rows of any kind', fire],
])('concurrent fires of one row start it once: %s', async (_, statement) => {
  const [task] = await tasksInAgenda(db)
  const runId = task?.runId as string
  const [nodeId, workerId] = [await aNode(db), await aNode(db)]
  const shards = await ownShards(db, nodeId)
  const row = await dueRow(db, runId)
  const firings = [{ row, decision: JUST_RUN, startNow: true }]

  const results = await Promise.all(
    [1, 2, 3].map(() => db.run(statement({ nodeId, shards, workerId, firings }))),
  )

  expect(results.filter(([result]) => result?.gone.length === 0)).toHaveLength(1)
  expect(await liveRow(db, runId)).toMatchObject({ state: 'running', fence: 1, attempt: 1, workerId })
})

test('a recurring row fires once and writes one next row, and a stale or dead owner leaves it unchanged', async () => {
  const [task] = await tasksInAgenda(db)
  const [runId, nextId] = [task?.runId as string, uuidv7()]
  const [old, nodeId, workerId] = [await aNode(db), await aNode(db), await aNode(db)]
  const lost = await ownShards(db, old)
  const shards = await ownShards(db, nodeId)
  const row = await dueRow(db, runId)
  const next = { runId: nextId, at: row.scheduledFor + 60_000 }
  const firings = [{ row, decision: { exclusive: true, next } }]
  const stale = [{ row: { ...row, fence: row.fence - 1 }, decision: { exclusive: true, next } }]
  const dead = await aNode(db)
  await db.run(declareDead({ nodeId: dead, beat: null, reason: 'lost' }))

  for (const request of [
    { nodeId: old, shards: lost, workerId, firings },
    { nodeId, shards, workerId, firings: stale },
    { nodeId, shards, workerId: dead, firings },
  ])
    expect(await db.run(fireRecurring(request))).toEqual([{ left: [runId] }])
  expect(await liveRow(db, runId)).toMatchObject({ state: 'scheduled', fence: 0, workerId: null })
  expect(await liveRow(db, nextId)).toBeUndefined()

  const results = await Promise.all(
    [1, 2, 3].map(() => db.run(fireRecurring({ nodeId, shards, workerId, firings }))),
  )

  expect(results.filter(([result]) => result?.left.length === 0)).toHaveLength(1)
  expect(await liveRow(db, runId)).toMatchObject({ state: 'running', fence: 1, attempt: 1, workerId })
  expect(await liveRow(db, nextId)).toMatchObject({ state: 'scheduled', fence: 0, workerId: null })

  const follower = {
    row: await dueRow(db, nextId),
    decision: { exclusive: true, next: { ...next, runId: uuidv7() } },
  }
  expect(await db.run(fireRecurring({ nodeId, shards, workerId, firings: [follower] }))).toEqual([
    { left: [nextId] },
  ])
})

test('a row that changed since it was read is not fired', async () => {
  const [task] = await tasksInAgenda(db)
  const runId = task?.runId as string
  const [nodeId, workerId] = [await aNode(db), await aNode(db)]
  const shards = await ownShards(db, nodeId)
  const read: DueRow = { ...(await dueRow(db, runId)), fence: -1 }

  const [result] = await db.run(
    fire({ nodeId, shards, workerId, firings: [{ row: read, decision: JUST_RUN, startNow: true }] }),
  )

  expect(result?.gone).toEqual([runId])
})

test('a worker that was declared dead gets no run, and due runs wait in ready', async () => {
  const [task] = await tasksInAgenda(db)
  const runId = task?.runId as string
  const [nodeId, workerId] = [await aNode(db), await aNode(db)]
  const shards = await ownShards(db, nodeId)
  await db.run(declareDead({ nodeId: workerId, beat: null, reason: 'lost' }))

  const row = await dueRow(db, runId)
  const [result] = await db.run(firePlain({ nodeId, shards, workerId, rows: [row] }))

  expect(result).toMatchObject({ isWorkerAlive: false, gone: [] })
  expect(await liveRow(db, runId)).toMatchObject({ state: 'pending', attempt: 0, workerId: null })
  expect((await transport.claim({ workerId, lanes: [0], limit: 10 })).runs).toEqual([])
  const living = await aNode(db)
  expect(
    (await transport.claim({ workerId: living, lanes: [0], limit: 10 })).runs.map((run) => run.runId),
  ).toEqual([runId])
})

test('concurrent claims give each run to exactly one worker', async () => {
  const tasks = await tasksInAgenda(db, { count: 200 })
  const nodeId = await aNode(db)
  const shards = await ownShards(db, nodeId)
  const rows = await Promise.all(tasks.map(({ runId }) => dueRow(db, runId)))
  await db.run(firePlain({ nodeId, shards, workerId: null, rows }))
  const workers = await Promise.all(Array.from({ length: 8 }, () => aNode(db)))

  const claims = await Promise.all(
    workers.flatMap((workerId) => [30, 30].map((limit) => transport.claim({ workerId, lanes: [0], limit }))),
  )

  const claimed = claims.flatMap(({ runs }) => runs.map((run) => run.runId))
  expect(claimed.sort()).toEqual(tasks.map((task) => task.runId).sort())
  for (const { runs } of claims) expect(runs.length).toBeLessThanOrEqual(30)
})

test('a plain end with a stale fence is not written and is reported as left', async () => {
  const { runId, fence } = await aRunningRun()
  const plain = { runId, startedAt: Date.now(), endedAt: Date.now(), output: null }

  expect(await db.run(endPlainRuns([{ ...plain, fence: fence - 1 }]))).toEqual([{ left: [runId] }])
  expect(await liveRow(db, runId)).toMatchObject({ state: 'running' })
  expect(await db.run(endPlainRuns([{ ...plain, fence }]))).toEqual([{ left: [] }])
  expect(await endedRow(db, runId)).toMatchObject({ state: 'completed' })
})

test('a cancelled run or a run of a delay task is not ended by the plain statement', async () => {
  const [cancelled, chained] = [await aRunningRun(), await aRunningRun()]
  await db.run(sql`update agenda set cancel_at = now() where run_id = ${cancelled.runId}`)
  await db.run(sql`update agenda set delay_ms = 1000 where run_id = ${chained.runId}`)
  const now = Date.now()
  const plain = [cancelled, chained].map(({ runId, fence }) => ({
    runId,
    fence,
    startedAt: now,
    endedAt: now,
    output: null,
  }))

  const [result] = await db.run(endPlainRuns(plain))

  expect(result?.left.toSorted()).toEqual([cancelled.runId, chained.runId].sort())
})

test('an outcome with a stale fence is not written', async () => {
  const { runId, fence } = await aRunningRun()

  const [result] = await db.run(endRuns([completed(runId, fence - 1), completed(runId, fence + 1)]))

  expect(result?.ended).toBe(0)
  expect(await endedRow(db, runId)).toBeUndefined()
  expect((await liveRow(db, runId))?.state).toBe('running')
})

test('ending a run twice writes one history row', async () => {
  const { runId, fence } = await aRunningRun()

  const [first] = await db.run(endRuns([completed(runId, fence)]))
  const [second] = await db.run(endRuns([completed(runId, fence)]))

  expect([first?.ended, second?.ended]).toEqual([1, 0])
  expect(await db.run(sql`select 1 as one from run where run_id = ${runId}`)).toHaveLength(1)
})

test('a retry with a stale fence is not written', async () => {
  const { runId, fence } = await aRunningRun()

  expect(await db.run(retryRuns([retry(runId, fence - 1)]))).toEqual([])
  expect(await db.run(retryRuns([retry(runId, fence)]))).toHaveLength(1)
  expect(await db.run(retryRuns([retry(runId, fence)]))).toEqual([])
  expect(await db.run(sql`select 1 as one from attempt where run_id = ${runId}`)).toHaveLength(1)
})

test('one of several reapers reclaims a run, and writes of its old worker are then refused', async () => {
  const { runId, fence } = await aRunningRun()

  const taken = await Promise.all([1, 2, 3].map(() => db.run(reclaimRuns([{ runId, fence }]))))

  expect(taken.flat()).toHaveLength(1)
  expect(await liveRow(db, runId)).toMatchObject({
    state: 'pending',
    losses: 1,
    attempt: 1,
    fence: fence + 1,
  })
  expect((await db.run(endRuns([completed(runId, fence)])))[0]?.ended).toBe(0)
  expect(await db.run(retryRuns([retry(runId, fence)]))).toEqual([])
  expect(await db.run(handBackRuns([{ runId, fence }]))).toEqual([])
})

test('a run that its worker has already ended is not reclaimed', async () => {
  const { runId, fence } = await aRunningRun()
  await db.run(endRuns([completed(runId, fence)]))

  expect(await db.run(reclaimRuns([{ runId, fence }]))).toEqual([])
})

test('a run that is handed back has made no attempt', async () => {
  const { runId, fence } = await aRunningRun()

  expect(await db.run(handBackRuns([{ runId, fence }]))).toHaveLength(1)

  expect(await liveRow(db, runId)).toMatchObject({
    state: 'pending',
    attempt: 0,
    losses: 0,
    fence: fence + 1,
  })
})

test('a node with a newer heartbeat than the one observed is not declared dead', async () => {
  const nodeId = await aNode(db)
  await db.run(sql`update node set beat = 7 where id = ${nodeId}`)

  expect(await db.run(declareDead({ nodeId, beat: 6, reason: 'lost' }))).toEqual([])
  expect(await db.run(declareDead({ nodeId, beat: 7, reason: 'lost' }))).toHaveLength(1)
})

test('exactly one of several nodes gets a shard', async () => {
  await db.run(sql`update shard set owner = null`)
  const [shard] = await db.run(
    sql<{
      id: number
      owner: null
      fence: number
      beat: number
    }>`select id, owner, fence, 0 as beat from shard where id = 7`,
  )
  if (!shard) throw new Error('there is no shard 7')
  const nodes = await Promise.all(Array.from({ length: 5 }, () => aNode(db)))

  const taken = await Promise.all(
    nodes.map((nodeId) => db.run(takeShards({ nodeId, takeoverMs: 3_000 }, [shard]))),
  )

  expect(taken.flat()).toHaveLength(1)
  expect(taken.flat()[0]?.fence).toBe(shard.fence + 1)
})
