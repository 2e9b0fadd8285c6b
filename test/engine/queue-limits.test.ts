/** Limits of whole queues: exact over all workers, beside those of keys, and no place is ever lost. */
import { expect, test } from 'vitest'
import { laneOf } from '../../src/core/run/lane.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { declareDead } from '../../src/store/nodes/nodes.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { aDefinition, aNode } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { allEnded, createAll, gatesOf, heldPlaces, mostAtOnce, spansOf } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { concurrency: 20 })
await startTestNode(database, { concurrency: 20, roles: 'worker,liveness' })

const sleep = (duration: string) => ({ type: 'sleep', duration })
const times = <T>(count: number, one: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => one(i))
const limit = async (queue: string, concurrencyLimit: number | null) =>
  (await node.request('PATCH', `/v1/queues/${queue}`, { concurrencyLimit })).body
const queueOf = async (queue: string) => (await node.request('GET', `/v1/queues/${queue}`)).body
const stateOf = async (id: string) => (await node.request('GET', `/v1/tasks/${id}`)).body.state
const cancelAll = (ids: readonly string[]) =>
  Promise.all(ids.map((id) => node.request('POST', `/v1/tasks/${id}/cancel`)))
const areRunning = (ids: readonly string[]) =>
  eventually(async () => (await Promise.all(ids.map(stateOf))).every((state) => state === 'running'))

test('a queue never has more running runs than its limit, across all workers', async () => {
  await limit('three', 3)
  const ids = await createAll(
    node,
    times(40, () => ({ action: sleep('30ms'), queue: 'three' })),
  )

  await allEnded(db, ids)

  expect(await mostAtOnce(db, ids)).toBeLessThanOrEqual(3)
  expect(await queueOf('three')).toMatchObject({ concurrencyLimit: 3, running: 0, waiting: 0 })
  expect(await heldPlaces(db)).toEqual([])
})

test('every slot of a queue is in use while runs wait, even if no single worker could fill them', async () => {
  await limit('wide', 30)
  const ids = await createAll(
    node,
    times(35, () => ({ action: sleep('1h'), queue: 'wide' })),
  )

  await eventually(async () => {
    const { running, waiting } = await queueOf('wide')
    expect(running).toBeLessThanOrEqual(30)
    return running === 30 && waiting === 5
  })

  await cancelAll(ids)
  await allEnded(db, ids)
})

test('limits of keys hold within the limit of their queue, beside runs without a key', async () => {
  await limit('mixed', 4)
  const task = { action: sleep('20ms'), queue: 'mixed' }
  const twos = times(20, () => ({ ...task, concurrencyKey: 'two', concurrencyLimit: 2 }))
  const ones = times(10, () => ({ ...task, concurrencyKey: 'one' }))
  const plain = times(15, () => task)
  const strict = times(5, () => ({ ...task, onWorkerLoss: 'fail' }))

  const ids = await createAll(node, [...twos, ...ones, ...plain, ...strict])
  await allEnded(db, ids)

  expect(await mostAtOnce(db, ids)).toBeLessThanOrEqual(4)
  expect(await mostAtOnce(db, ids.slice(0, 20))).toBeLessThanOrEqual(2)
  expect(await mostAtOnce(db, ids.slice(20, 30))).toBe(1)
  expect(await heldPlaces(db)).toEqual([])
})

test('a queue with one slot starts runs by priority and due time, across all its lanes', async () => {
  await limit('single', 1)
  const sink = await startSink()
  const at = Date.now() + 2_000
  // Long enough for the others to be due and waiting before it ends, also on a busy machine.
  const [blocker] = await createAll(node, [
    { action: sleep('5s'), queue: 'single', startAt: new Date(at).toISOString() },
  ])
  const lanes = [{}, { concurrencyKey: 'a' }, { concurrencyKey: 'b' }, { onWorkerLoss: 'fail' }]
  const tasks = times(24, (i) => ({
    ...lanes[i % lanes.length],
    queue: 'single',
    priority: [5, 0, -5][i % 3],
    startAt: new Date(at + 1 + i).toISOString(),
    action: { type: 'ping', url: `${sink.url}/${i}` },
  }))

  await createAll(node, tasks)
  await allEnded(db, [blocker as string])
  await eventually(async () => sink.hits.length === tasks.length)

  const byPriority = [2, 1, 0].flatMap((rest) => times(8, (i) => `/${3 * i + rest}`))
  expect(sink.hits.map((hit) => hit.path)).toEqual(byPriority)
})

test('a steady stream of runs in other lanes of a queue does not starve a lane', async () => {
  await limit('busy', 2)
  const task = (startAt: number, more: object = {}) => ({
    action: sleep('20ms'),
    queue: 'busy',
    startAt: new Date(startAt).toISOString(),
    ...more,
  })
  const at = Date.now() + 300
  const stream = times(200, (i) => task(at + 10 * i))
  const keyed = ['a', 'b'].flatMap((concurrencyKey) =>
    times(5, (i) => task(at + 50 * i, { concurrencyKey, concurrencyLimit: 2 })),
  )

  const ids = await createAll(node, [...stream, ...keyed])
  await allEnded(db, ids)

  // Twice as much is due as the queue can do, so the stream is long behind when the last of the keyed are due.
  const begun = (await spansOf(db, ids)).map(({ taskId }) => ids.indexOf(taskId))
  expect(begun.findLastIndex((i) => i >= stream.length)).toBeLessThan(60)
})

test('a run that waits for its retry frees the slots of its queue and its key', async () => {
  await limit('retrying', 1)
  const sink = await startSink(({ path }, count) => ({
    status: path === '/fails' && count === 1 ? 503 : 200,
  }))
  const keyed = { queue: 'retrying', concurrencyKey: 'retrying' }
  const fails = await createAll(node, [
    {
      ...keyed,
      action: { type: 'ping', url: `${sink.url}/fails` },
      retry: { limit: 1, initial: '5s', max: '5s' },
    },
  ])
  await eventually(async () => sink.hits.length === 1)

  const next = await createAll(node, [
    { ...keyed, action: { type: 'ping', url: `${sink.url}/next` } },
    { queue: 'retrying', action: { type: 'ping', url: `${sink.url}/plain` } },
  ])

  await allEnded(db, [...next, ...fails])
  expect(await heldPlaces(db)).toEqual([])
})

test('the slots of a dead worker are freed with its runs', async () => {
  await limit('mortal', 2)
  await node.request('POST', '/v1/queues/mortal/pause')
  const keyed = { queue: 'mortal', concurrencyKey: 'mortal', concurrencyLimit: 2 }
  const ids = await createAll(
    node,
    times(4, () => ({ ...keyed, action: sleep('0s') })),
  )
  await eventually(async () => (await queueOf('mortal')).waiting === 4)
  const workerId = await aNode(db)
  const lane = laneOf(DEFAULT_PROJECT_ID, aDefinition(keyed)).id
  const { runs } = await new PostgresTransport(db).claimGated({ workerId, lanes: [lane], limit: 10 })
  expect(runs).toHaveLength(2)
  expect((await gatesOf(db)).filter(({ queue }) => queue === 'mortal').map(({ held }) => held)).toEqual([
    2, 2,
  ])

  await node.request('POST', '/v1/queues/mortal/resume')
  await db.run(declareDead({ nodeId: workerId, beat: null, reason: 'lost' }))

  await allEnded(db, ids)
  expect(await heldPlaces(db)).toEqual([])
})

test('a new limit counts runs that are already running and starts no run until a slot is free', async () => {
  const five = await createAll(
    node,
    // Until the limit is set, none of them may end, also on a busy machine.
    times(5, (i) => ({ action: sleep(`${6_000 + 200 * i}ms`), queue: 'late' })),
  )
  await areRunning(five)

  expect(await limit('late', 2)).toMatchObject({ concurrencyLimit: 2, running: 5 })
  const [sixth] = (await createAll(node, [{ action: sleep('0s'), queue: 'late' }])) as [string]
  await allEnded(db, [...five, sixth])

  const ends = (await spansOf(db, five)).map(({ endedAt }) => endedAt).sort((a, b) => a - b)
  const [begun] = await spansOf(db, [sixth])
  expect(begun?.startedAt).toBeGreaterThanOrEqual(ends[3] as number)
  expect(await heldPlaces(db)).toEqual([])
})

test('lifting a limit starts the runs that wait behind it', async () => {
  await limit('lifted', 1)
  const [blocker, ...waiting] = (await createAll(node, [
    { action: sleep('1h'), queue: 'lifted' },
    ...times(3, () => ({ action: sleep('0s'), queue: 'lifted', priority: 1 })),
  ])) as [string, ...string[]]
  await areRunning([blocker])

  expect(await limit('lifted', null)).toMatchObject({ concurrencyLimit: null, running: null })

  await allEnded(db, waiting)
  expect(await stateOf(blocker)).toBe('running')
  await cancelAll([blocker])
  await allEnded(db, [blocker])
  expect(await heldPlaces(db)).toEqual([])
})

test('the count of running runs stays exact when a limit changes repeatedly under load', async () => {
  const task = { action: sleep('25ms'), queue: 'restless' }
  const ids = await createAll(
    node,
    times(400, (i) => (i % 4 === 0 ? { ...task, concurrencyKey: `k${i % 3}`, concurrencyLimit: 3 } : task)),
  )
  let isDone = false
  const seen = new Set<string>()
  const watched = (async () => {
    while (!isDone)
      for (const { queue, key, held, holders } of await gatesOf(db))
        if (held !== holders) seen.add(`${queue}/${key}: ${held} held by ${holders}`)
  })()

  for (const concurrencyLimit of [2, 10, 1, null, 3, null, 40, 1, 5, null, 1, 4, null, 2, 6]) {
    await limit('restless', concurrencyLimit)
    const before = await db.run(sql<{ ended: number }>`select count(*)::integer as ended from run`)
    await eventually(async () => {
      const [now] = await db.run(sql<{ ended: number }>`select count(*)::integer as ended from run`)
      const [left] = await db.run(sql<{ left: number }>`select count(*)::integer as left from agenda`)
      return left?.left === 0 || (now?.ended ?? 0) >= (before[0]?.ended ?? 0) + 15
    })
  }
  await allEnded(db, ids)
  isDone = true
  await watched

  expect([...seen]).toEqual([])
  expect(await heldPlaces(db)).toEqual([])
  expect(await queueOf('restless')).toMatchObject({ concurrencyLimit: 6, running: 0 })
})
