/** A change that holds a connection never waits for another one: with as many changes as connections, all would wait for ever. */
import { afterAll, expect, test } from 'vitest'
import { Database } from '../../src/store/database/database.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const CONNECTIONS = 2
const AT_ONCE = 6

const { url } = await createTestDatabase()
const db = new Database({
  url,
  applicationName: 'belfry test',
  maxConnections: CONNECTIONS,
  statementTimeoutMs: 15_000,
})
afterAll(() => db.close())
const { send } = await createTestApp({ db })
const action = { type: 'sleep', duration: '0s' }
const schedule = { type: 'manual' }
const several = Array.from({ length: AT_ONCE }, (_, i) => i)

test('more bulk requests than connections are stored, each with a new queue', async () => {
  const answers = await Promise.all(
    several.map((i) => send('POST', '/v1/tasks/bulk', { tasks: [{ action, schedule, queue: `bulk-${i}` }] })),
  )

  expect(answers.map(({ status }) => status)).toEqual(several.map(() => 201))
})

test('more edits than connections each move a task to a new queue', async () => {
  const ids = await Promise.all(
    several.map(async () => (await send('POST', '/v1/tasks', { action, schedule })).body.id),
  )

  const answers = await Promise.all(
    ids.map((id, i) => send('PATCH', `/v1/tasks/${id}`, { queue: `edited-${i}` })),
  )

  expect(answers.map(({ status }) => status)).toEqual(several.map(() => 200))
})

test('more triggers than connections are accepted, each with a new queue as override', async () => {
  const tasks = await Promise.all(
    several.map(
      async () => (await send('POST', '/v1/tasks', { action, schedule, overlap: 'allow' })).body.id,
    ),
  )

  const answers = await Promise.all(
    tasks.map((id, i) => send('POST', `/v1/tasks/${id}/trigger`, { queue: `triggered-${i}` })),
  )

  expect(answers.map(({ status }) => status)).toEqual(several.map(() => 201))
})
