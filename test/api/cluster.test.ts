/** Nodes, what each of them holds, and who watches what: as rows tell it, and as real nodes do. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { sql } from '../../src/store/database/sql.ts'
import { aNode, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { send } = await createTestApp(database)

const nodes = async (path = '/v1/nodes') => (await send('GET', path)).body.items
const nodeOf = async (id: string) => (await nodes()).find((node: { id: string }) => node.id === id)
const beatAgo = (id: string, seconds: number) =>
  db.run(
    sql`update node set beat_at = clock_timestamp() - make_interval(secs => ${seconds}) where id = ${id}`,
  )
const bury = (id: string, reason: string) =>
  db.run(sql`update node set dead_at = clock_timestamp(), reason = ${reason} where id = ${id}`)

test('a node is alive while it sends heartbeats, quiet when they stop, and dead when declared so', async () => {
  const [alive, quiet, stopped, lost] = [
    await aNode(db),
    await aNode(db),
    await aNode(db),
    await aNode(db, ['api']),
  ]
  await beatAgo(alive, 6)
  await beatAgo(quiet, 13)
  await bury(stopped, 'stopped')
  await bury(lost, 'lost')

  expect(await nodeOf(alive)).toMatchObject({ state: 'alive', reason: null, detail: null, deadAt: null })
  expect(await nodeOf(quiet)).toMatchObject({
    state: 'quiet',
    reason: 'silent',
    detail: expect.stringMatching(/^The node has not sent a heartbeat for 1[3-9] s\.$/),
  })
  expect(await nodeOf(stopped)).toMatchObject({
    state: 'dead',
    reason: 'stopped',
    deadAt: expect.any(String),
  })
  expect(await nodeOf(lost)).toMatchObject({ state: 'dead', reason: 'lost' })
  const order = (await nodes()).map(({ id }: { id: string }) => id)
  expect(order.slice(0, 2).sort()).toEqual([alive, quiet].sort())
  expect((await nodes('/v1/workers')).map(({ id }: { id: string }) => id)).not.toContain(lost)
})

test('the runs that a node leases are counted, and an incomplete count is marked as atLeast', async () => {
  const [busy, idle] = [await aNode(db), await aNode(db)]
  const tasks = await tasksInAgenda(db, { count: 200 })
  const run = tasks.slice(0, 7).map(({ runId }) => runId)
  await db.run(
    sql`update agenda set state = 'running', worker_id = ${busy}, attempt = 1 where run_id = any(${run}::uuid[])`,
  )

  expect((await nodeOf(busy)).busy).toEqual({ count: 7, atLeast: false })
  expect((await nodeOf(idle)).busy).toEqual({ count: 0, atLeast: false })

  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, serial, state)
    select gen_random_uuid(), task_id, project_id, 5, now(), now(), 1, 0, 'manual', n, 'pending'
    from agenda, generate_series(1, 600) as n where run_id = ${tasks[10]?.runId}`)
  expect((await nodeOf(busy)).busy).toEqual({ count: 7, atLeast: true })
  await db.run(sql`delete from agenda`)
})

test('a shard is watched while its owner renews its lease', async () => {
  const owner = await aNode(db)
  await ownShards(db, owner)
  await db.run(sql`update shard set watched_until = clock_timestamp()`)
  await db.run(sql`update shard set owner = null where id = 3`)
  await db.run(sql`update shard set watched_until = clock_timestamp() - interval '6 seconds' where id = 4`)
  await db.run(sql`update shard set owner = ${uuidv7()} where id = 5`)

  const { items } = (await send('GET', '/v1/shards')).body

  expect(items.map(({ id }: { id: number }) => id)).toEqual(Array.from({ length: 64 }, (_, id) => id))
  expect(items[0]).toMatchObject({ owner, ownerName: 'test', isWatched: true })
  expect(items[3]).toMatchObject({ owner: null, ownerName: null, isWatched: false })
  expect(items[4]).toMatchObject({ owner, isWatched: false })
  expect(items[5]).toMatchObject({ ownerName: null, isWatched: true })
  expect((await nodeOf(owner)).shards).toBe(62)
})

test('a node is listed with its runs while it works, and as stopped afterwards', async () => {
  const first = await startTestNode(database, { concurrency: 7 })
  const second = await startTestNode(database, { roles: 'worker', concurrency: 9 })
  const task = { action: { type: 'sleep', duration: '1h' }, overlap: 'allow' }
  const ids = await Promise.all(
    Array.from({ length: 5 }, async () => (await first.request('POST', '/v1/tasks', task)).body.id),
  )
  const ours = async (path: string) =>
    (await first.request('GET', path)).body.items.filter(({ id }: { id: string }) =>
      [first.id, second.id].includes(id),
    )
  await eventually(async () => {
    const held = (await ours('/v1/workers')).map(({ busy }: { busy: { count: number } }) => busy.count)
    return held.reduce((sum: number, count: number) => sum + count, 0) === 5
  })

  const workers = await ours('/v1/workers')
  expect(workers).toHaveLength(2)
  for (const worker of workers) expect(worker).toMatchObject({ state: 'alive', version: '0.0.0-test' })
  expect(workers.map(({ concurrency }: { concurrency: number }) => concurrency).sort()).toEqual([7, 9])
  await eventually(async () => {
    const { items } = (await first.request('GET', '/v1/shards')).body
    return items.every(
      (shard: { owner: string; isWatched: boolean }) => shard.owner === first.id && shard.isWatched,
    )
  })

  await Promise.all(ids.map((id) => first.request('POST', `/v1/tasks/${id}/cancel`)))
  await second.stop()
  const [gone] = (await ours('/v1/nodes')).filter(({ id }: { id: string }) => id === second.id)
  expect(gone).toMatchObject({ state: 'dead', reason: 'stopped', busy: { count: 0 } })
})
