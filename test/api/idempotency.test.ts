import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { deleteOldAnswers } from '../../src/store/tasks/answers.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { send } = await createTestApp(database)

const action = { type: 'webhook', url: 'http://localhost:1/x', body: { z: 1, a: [{ y: 2, b: null }] } }
const later = { type: 'once', at: '2099-01-01T00:00:00Z' }
const keyed = (key: string) => ({ 'idempotency-key': key })

const countTasks = async () =>
  (await database.db.run(sql<{ count: number }>`select count(*)::integer as count from task`))[0]?.count
const countRows = async (taskId: string) =>
  (
    await database.db.run(
      sql<{ count: number }>`select count(*)::integer as count from agenda where task_id = ${taskId}`,
    )
  )[0]?.count

test('a repeated create is answered with the same bytes, and nothing is done twice', async () => {
  const request = { action, schedule: later, metadata: { z: 1, a: 2, '10': 3 }, tags: ['b', 'a'] }
  const first = await send('POST', '/v1/tasks', request, keyed('create'))
  const before = await countTasks()

  const again = await send('POST', '/v1/tasks', request, keyed('create'))

  expect(first.status).toBe(201)
  expect(first.headers['idempotent-replayed']).toBeUndefined()
  expect(again.status).toBe(201)
  expect(again.text).toBe(first.text)
  expect(again.headers).toMatchObject({
    'idempotent-replayed': 'true',
    location: first.headers['location'],
    etag: first.headers['etag'],
    'content-type': first.headers['content-type'],
  })
  expect(await countTasks()).toBe(before)
})

test('a repeated bulk is answered with the same bytes, and nothing is done twice', async () => {
  const request = {
    tasks: Array.from({ length: 50 }, (_, i) => ({ action, schedule: later, name: `n${i}` })),
  }
  const first = await send('POST', '/v1/tasks/bulk', request, keyed('bulk'))
  const before = await countTasks()

  const again = await send('POST', '/v1/tasks/bulk', request, keyed('bulk'))

  expect(again.status).toBe(201)
  expect(again.text).toBe(first.text)
  expect(again.headers['idempotent-replayed']).toBe('true')
  expect(await countTasks()).toBe(before)
})

test('a repeated trigger is answered with the same bytes, and nothing is done twice', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  const first = await send('POST', `/v1/tasks/${task.id}/trigger`, undefined, keyed('trigger'))

  const again = await send('POST', `/v1/tasks/${task.id}/trigger`, undefined, keyed('trigger'))

  expect(first.status).toBe(201)
  expect(again.text).toBe(first.text)
  expect(again.headers).toMatchObject({
    'idempotent-replayed': 'true',
    location: first.headers['location'],
  })
  expect(await countRows(task.id)).toBe(1)
})

test('a repeated request gets its answer even if it would be refused by now', async () => {
  const at = new Date(Date.now() - 3_600_000 + 300).toISOString()
  const request = { action, schedule: { type: 'once', at }, misfire: { window: '1h' }, key: 'only one' }
  const first = await send('POST', '/v1/tasks', request, keyed('too-late'))
  expect(first.status).toBe(201)
  await eventually(async () => (await send('POST', '/v1/tasks', request)).status === 422)

  const again = await send('POST', '/v1/tasks', request, keyed('too-late'))

  expect(again.text).toBe(first.text)
})

test('a repeated trigger gets its answer even if the task has been deleted', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  const first = await send('POST', `/v1/tasks/${task.id}/trigger`, undefined, keyed('gone'))
  await send('DELETE', `/v1/tasks/${task.id}`)

  const again = await send('POST', `/v1/tasks/${task.id}/trigger`, undefined, keyed('gone'))

  expect(again.text).toBe(first.text)
})

test('a key that was used for something else is refused', async () => {
  await send('POST', '/v1/tasks', { action, schedule: later }, keyed('other'))

  const otherBody = await send('POST', '/v1/tasks', { action, schedule: later, name: 'x' }, keyed('other'))
  const otherPath = await send('POST', '/v1/tasks/bulk', { tasks: [{ action }] }, keyed('other'))

  for (const answer of [otherBody, otherPath]) {
    expect(answer.status).toBe(422)
    expect(answer.body.code).toBe('idempotency_key_reused')
  }
})

test('a request that was refused leaves its key free', async () => {
  const refused = await send('POST', '/v1/tasks', { action, name: '' }, keyed('mended'))
  const mended = await send('POST', '/v1/tasks', { action, schedule: later, name: 'x' }, keyed('mended'))

  expect(refused.status).toBe(422)
  expect(mended.status).toBe(201)
})

test('a trigger that is refused leaves its key free', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  const { body: run } = await send('POST', `/v1/tasks/${task.id}/trigger`)

  const refused = await send('POST', `/v1/tasks/${task.id}/trigger`, undefined, keyed('blocked'))
  await send('POST', `/v1/runs/${run.id}/cancel`)
  const second = await send('POST', `/v1/tasks/${task.id}/trigger`, undefined, keyed('blocked'))

  expect(refused.status).toBe(409)
  expect(refused.body).toMatchObject({ code: 'run_active', runId: run.id })
  expect(second.status).toBe(201)
})

test('an answer is kept for a day', async () => {
  await send('POST', '/v1/tasks', { action, schedule: later }, keyed('young'))
  await send('POST', '/v1/tasks', { action, schedule: later }, keyed('old'))
  await database.db.run(
    sql`update idempotency set created_at = now() - interval '23 hours 59 minutes' where key = 'young'`,
  )
  await database.db.run(
    sql`update idempotency set created_at = now() - interval '24 hours 1 minute' where key = 'old'`,
  )

  await database.db.run(deleteOldAnswers(24))

  const young = await send('POST', '/v1/tasks', { action, schedule: later }, keyed('young'))
  const old = await send('POST', '/v1/tasks', { action, schedule: later }, keyed('old'))
  expect(young.headers['idempotent-replayed']).toBe('true')
  expect(old.headers['idempotent-replayed']).toBeUndefined()
})

test('of many requests with one key on two nodes one is carried out, and all get its answer', async () => {
  const nodes = [await startTestNode(database), await startTestNode(database)]
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  const sleep = { type: 'sleep', duration: '0s' }
  const requests = [
    { path: '/v1/tasks', body: { action: sleep, schedule: later, name: 'together' }, key: 'together' },
    { path: '/v1/tasks', body: { action: sleep, schedule: later, key: 'unique' }, key: 'task-key' },
    {
      path: '/v1/tasks/bulk',
      body: { tasks: [{ action: sleep, schedule: later, name: 'bulk' }] },
      key: 'in-bulk',
    },
    { path: `/v1/tasks/${task.id}/trigger`, body: undefined, key: 'trigger' },
  ]

  for (const { path, body, key } of requests) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        nodes[i % 2]?.request('POST', path, body, keyed(`on-two-nodes-${key}`)),
      ),
    )

    expect(answers.map((answer) => answer?.status)).toEqual(Array(10).fill(201))
    expect(new Set(answers.map((answer) => JSON.stringify(answer?.body))).size).toBe(1)
    expect(answers.filter((answer) => answer?.headers.get('idempotent-replayed') === null)).toHaveLength(1)
  }

  const [stored] = await database.db.run(sql<{ names: number; keys: number; runs: number }>`
    select (select count(*)::integer from task where name in ('together', 'bulk')) as names,
           (select count(*)::integer from task where key = 'unique') as keys,
           (select count(*)::integer from agenda where task_id = ${task.id})
             + (select count(*)::integer from run where task_id = ${task.id}) as runs`)
  expect(stored).toEqual({ names: 2, keys: 1, runs: 1 })
})

test.each([
  ['/tasks', { command: '5s', start_at: '2099-01-01T00:00:00Z' }, { command: '6s' }, 400],
  [
    '/submit_job',
    { user_id: 'ada', schedule: '1h', code_location: 'http://localhost:1/x' },
    { user_id: 'ada', schedule: '2h', code_location: 'http://localhost:1/x' },
    422,
  ],
])(
  'a repeated POST %s creates one task, and its key is refused for another request',
  async (path, given, other, refused) => {
    const first = await send('POST', path, given, keyed(`of-${path}`))
    const before = await countTasks()

    const again = await send('POST', path, given, keyed(`of-${path}`))
    const another = await send('POST', path, other, keyed(`of-${path}`))

    expect(first.status).toBe(200)
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(again.status).toBe(200)
    expect(again.text).toBe(first.text)
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(another.status).toBe(refused)
    expect(another.body.detail).toMatch(
      /^This Idempotency-Key was used for a request with a different path or body/,
    )
    expect(await countTasks()).toBe(before)
  },
)
