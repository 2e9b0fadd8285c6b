/** Runs that may wait for a worker only so long. Nobody serves the label that they ask for. */
import { expect, test } from 'vitest'
import { Expiry } from '../../src/maintenance/expiry.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'

const database = await createTestDatabase()
const { db } = database
// Without the role that looks for what has waited too long: the tests do that themselves.
const node = await startTestNode(database, { roles: 'api,scheduler,worker' })
const expiry = new Expiry({ db, wakeUps: new LocalWakeUps(), log: silentLogger() })

const UNSERVED = { labels: ['nobody has this'], queueTimeout: '1h' }
const SLEEP = { type: 'sleep', duration: '0s' }

const create = async (fields: Record<string, unknown>) => {
  const { status, body } = await node.request('POST', '/v1/tasks', { action: SLEEP, ...UNSERVED, ...fields })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id as string
}
const runsOf = async (taskId: string) =>
  (await node.request('GET', `/v1/tasks/${taskId}/runs`)).body.items as Record<string, unknown>[]
const pending = (taskId: string) =>
  eventually(async () => (await runsOf(taskId)).find(({ state }) => state === 'pending'))
const noteOf = async (taskId: string) => {
  const [note] = await db.run(sql<{ attempt: number; leftMs: number }>`
    select e.attempt, (extract(epoch from e.expires_at - now()) * 1000)::float8 as "leftMs"
    from expiry e join agenda a on a.run_id = e.run_id where a.task_id = ${taskId}`)
  return note
}
/** Moves the data, not the clock. */
const letTimePass = (taskId: string) =>
  db.run(sql`
    update expiry set expires_at = now() where run_id in (select run_id from agenda where task_id = ${taskId})`)

test('a run that finds no worker within its queueTimeout is skipped, and not earlier', async () => {
  const taskId = await create({})
  await pending(taskId)
  expect((await noteOf(taskId))?.leftMs).toBeGreaterThan(3_000_000)
  await expiry.runOnce()
  expect(await runsOf(taskId)).toMatchObject([{ state: 'pending' }])

  await letTimePass(taskId)
  await expiry.runOnce()

  expect(await runsOf(taskId)).toMatchObject([
    { state: 'skipped', reason: 'queue_timeout', attempt: 0, startedAt: null },
  ])
  const [left] = await db.run(sql<{ ready: number; notes: number }>`
    select (select count(*)::integer from ready) as ready, (select count(*)::integer from expiry) as notes`)
  expect(left).toEqual({ ready: 0, notes: 0 })
  const { body: task } = await node.request('GET', `/v1/tasks/${taskId}`)
  expect(task).toMatchObject({ state: 'finished', queueTimeout: '1h' })
})

test('the queueTimeout of a catch-up run is as long as that of any other run', async () => {
  const at = new Date(Date.now() + 3_600_000).toISOString()
  const taskId = await create({ schedule: { type: 'once', at } })
  await db.run(sql`
    update agenda set kind = 'catchup', wake_at = now(), scheduled_for = now() - interval '1 hour' where task_id = ${taskId}`)
  await eventually(
    async () =>
      (await db.run(sql`select from agenda where task_id = ${taskId} and state = 'pending'`)).length === 1,
  )
  expect((await noteOf(taskId))?.leftMs).toBeGreaterThan(3_000_000)

  await letTimePass(taskId)
  await expiry.runOnce()

  expect(await runsOf(taskId)).toMatchObject([{ state: 'skipped', reason: 'queue_timeout', kind: 'catchup' }])
})

test('a run without a queueTimeout has no row in expiry', async () => {
  const taskId = await create({ queueTimeout: null })
  await pending(taskId)

  expect(await noteOf(taskId)).toBeUndefined()
  await node.request('DELETE', `/v1/tasks/${taskId}`)
})

test('a delay task continues after a run that exceeded its queueTimeout', async () => {
  const taskId = await create({ schedule: { type: 'delay', interval: '1h' } })
  await pending(taskId)
  await letTimePass(taskId)

  await expiry.runOnce()

  expect(await runsOf(taskId)).toMatchObject([{ state: 'skipped', reason: 'queue_timeout' }])
  const { body: task } = await node.request('GET', `/v1/tasks/${taskId}`)
  expect(Date.parse(task.nextFireAt) - Date.now()).toBeGreaterThan(3_000_000)
})

test('a held run becomes pending when the run before it exceeds its queueTimeout', async () => {
  const taskId = await create({ schedule: { type: 'manual' }, overlap: 'queue_one' })
  const trigger = () => node.request('POST', `/v1/tasks/${taskId}/trigger`)
  await trigger()
  const first = await pending(taskId)
  await trigger()
  await eventually(async () => (await runsOf(taskId)).length === 2)
  await eventually(async () => {
    const [row] = await db.run(sql`select from agenda where task_id = ${taskId} and state = 'held'`)
    return row !== undefined
  })

  await db.run(sql`update expiry set expires_at = now() where run_id = ${first['id'] as string}`)
  await expiry.runOnce()

  const isNext = ({ id, state }: Record<string, unknown>) => id !== first['id'] && state === 'pending'
  await eventually(async () => (await runsOf(taskId)).some(isNext))
  await node.request('DELETE', `/v1/tasks/${taskId}`)
})

test('queueTimeout does not end a run that has started, and applies again to its retry', async () => {
  const name = 'queue-timeout'
  const action = { type: 'handler', name }
  const retry = { limit: 3, initial: '10ms', max: '10ms' }
  const taskId = await create({ action, labels: [], retry })
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = await worker.claim(1)
  if (!run) throw new Error('nothing was claimed')
  await letTimePass(taskId)
  await expiry.runOnce()
  expect(await runsOf(taskId)).toMatchObject([{ state: 'running' }])

  const { runId, fence } = run
  await worker.say('complete', { runs: [{ runId, fence, outcome: 'failed', error: { message: 'no' } }] })
  await pending(taskId)
  expect(await noteOf(taskId)).toMatchObject({ attempt: 1 })
  await letTimePass(taskId)
  await expiry.runOnce()

  expect(await runsOf(taskId)).toMatchObject([
    { state: 'permanently_failed', attempt: 1, reason: null, error: { code: 'queue_timeout' } },
  ])
})

test('a run that a stopping worker hands back after its queueTimeout is skipped', async () => {
  const name = 'queue-timeout-returned'
  const taskId = await create({ action: { type: 'handler', name }, labels: [] })
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = await worker.claim(1)
  if (!run) throw new Error('nothing was claimed')
  await letTimePass(taskId)
  await expiry.runOnce()
  expect(await runsOf(taskId)).toMatchObject([{ state: 'running' }])

  await worker.say('return', { runs: [{ runId: run.runId, fence: run.fence }] })
  await pending(taskId)
  await letTimePass(taskId)
  await expiry.runOnce()

  expect(await runsOf(taskId)).toMatchObject([{ state: 'skipped', reason: 'queue_timeout', attempt: 0 }])
})

test('a run reclaimed from a dead worker is not ended by its queueTimeout', async () => {
  const name = 'queue-timeout-lost'
  const taskId = await create({ action: { type: 'handler', name }, labels: [] })
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = await worker.claim(1)
  if (!run) throw new Error('nothing was claimed')
  await worker.say('complete', { runs: [{ runId: run.runId, fence: run.fence, outcome: 'lost' }] })
  await pending(taskId)

  await letTimePass(taskId)
  await expiry.runOnce()

  expect(await runsOf(taskId)).toMatchObject([{ state: 'pending', losses: 1 }])
})

test('one of several nodes ends a run past its queueTimeout, and a run that is being claimed is left alone', async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => create({})))
  await Promise.all(ids.map(pending))
  await db.run(sql`update expiry set expires_at = now()`)
  const [spared = ''] = ids

  await db.transaction(async (tx) => {
    await tx.run(sql`select from agenda where task_id = ${spared} for update`)
    await Promise.all(Array.from({ length: 4 }, () => expiry.runOnce()))
  })

  expect(await runsOf(spared)).toMatchObject([{ state: 'pending' }])
  for (const id of ids.slice(1)) expect(await runsOf(id)).toMatchObject([{ state: 'skipped' }])
  await expiry.runOnce()
  expect(await runsOf(spared)).toMatchObject([{ state: 'skipped' }])
})
