/** Tasks created together: what is answered, and what is stored. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { send } = await createTestApp(database)

/** More than one statement stores. */
const MANY = 1_100
const later = { type: 'once', at: '2099-01-01T00:00:00.5+02:00' }
const sleep = { type: 'sleep', duration: '0s' }

const KINDS: readonly ((i: number) => Record<string, unknown>)[] = [
  () => ({ action: sleep, schedule: later }),
  () => ({ action: sleep, schedule: 'every weekday at 9:00', jitter: '30s' }),
  () => ({ action: sleep, schedule: { type: 'manual' }, labels: ['gpu'], queue: 'other' }),
  (i) => ({
    key: `key "${i}"`,
    name: '{a,b}\\',
    tags: ['NULL', 'a,b', '"quoted"', '{x}', '\\', 'ä 😀', 'NULL'],
    action: { type: 'webhook', url: 'https://example.com/hook', body: { z: '\n\u2028"\\', a: [i, null] } },
    schedule: { type: 'cron', expression: '30 9 * * MON-FRI', timezone: 'asia/kolkata' },
    retry: { limit: 5 },
    misfire: { policy: 'skip' },
    metadata: { '10': 1, z: { y: 2 }, a: '' },
    concurrencyKey: `k${i % 3}`,
  }),
  () => ({
    action: {
      type: 'http',
      url: 'https://example.com/x',
      method: 'PUT',
      headers: { authorization: 'secret', 'x-a': 'b' },
    },
    schedule: [{ type: 'daily', hour: 3, minute: 15, timezone: 'America/New_York' }, later],
    startAt: '2098-05-01T00:00:00Z',
    tracingId: 'order 7',
  }),
]

const mixed = () => Array.from({ length: MANY }, (_, i) => KINDS[i % KINDS.length]?.(i))

test('the answer shows each task byte for byte as GET does', async () => {
  const { status, body } = await send('POST', '/v1/tasks/bulk', { tasks: mixed() })

  expect(status).toBe(201)
  expect(body.items).toHaveLength(MANY)
  for (const index of [0, 1, 2, 3, 4, 503, MANY - 2, MANY - 1]) {
    const read = await send('GET', `/v1/tasks/${body.items[index].id}`)
    expect(JSON.stringify(body.items[index])).toBe(read.text)
  }
})

test('a key that is in use is reported with its index, and nothing is stored', async () => {
  const tasks: Record<string, unknown>[] = Array.from({ length: MANY }, (_, i) => ({
    action: sleep,
    key: `own-${i}`,
  }))
  await send('POST', '/v1/tasks', { action: sleep, schedule: later, key: 'own-1003' })

  const { status, body } = await send('POST', '/v1/tasks/bulk', { tasks })

  expect(status).toBe(409)
  expect(body.errors).toMatchObject([{ pointer: '/tasks/1003/key' }])
  const [stored] = await database.db.run(
    sql<{ count: number }>`select count(*)::integer as count from task where key like 'own-%'`,
  )
  expect(stored?.count).toBe(1)
})
