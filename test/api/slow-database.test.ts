/** A database that is slow: what is refused, what goes on, and that it ends. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, aManualTask, startOneNode } from '../support/node.ts'
import { startProxy } from '../support/proxy.ts'

const SLOW_MS = 100
const CONNECTIONS = 6
const LISTS = 20
const database = await createTestDatabase()
const proxy = await startProxy(database.url)
/** What requests use lies behind a wire that can be slow; what fires and claims does not. */
const db = new Database({
  url: proxy.url,
  applicationName: 'belfry slow',
  maxConnections: CONNECTIONS,
  // Longer than any test: no query ends because it hangs.
  statementTimeoutMs: 600_000,
})
whenDone(() => db.close())
const node = await startOneNode({ url: database.url, db }, { slowDatabaseMs: SLOW_MS })
const taskId = await aManualTask(node)

const list = () => node.request('GET', '/v1/tasks')
const read = () => node.request('GET', `/v1/tasks/${taskId}`)
const create = () =>
  node.request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'manual' },
  })

test('the slower the database, the more kinds of requests are refused, but never those of workers', async () => {
  expect((await list()).status).toBe(200)

  proxy.slow(1.5 * SLOW_MS)
  const refused = await eventually(async () => {
    const answer = await list()
    return answer.status === 503 && answer
  })
  const [one, made, server] = await Promise.all([read(), create(), node.request('GET', '/v1/server')])
  proxy.slow(8 * SLOW_MS)
  await eventually(async () => (await create()).body.code === 'database_slow')
  const worker = await node.request('POST', '/v1/worker/register', { handlers: ['any'] })
  const health = await node.request('GET', '/healthz')
  const reading = await read()

  expect(refused.body).toMatchObject({
    code: 'database_slow',
    detail: expect.stringContaining('refuses lists, statistics and streams'),
  })
  expect(refused.headers.get('retry-after')).toBe('2')
  expect([one.status, made.status]).toEqual([200, 201])
  expect(server.body.load).toMatchObject({ refused: ['browse'], refusals: expect.any(Number) })
  expect(server.body.load.databaseDelayMs).toBeGreaterThan(SLOW_MS)
  expect([worker.status, health.status, reading.status]).toEqual([201, 200, 503])
})

test('every request is answered again once the database is fast', async () => {
  proxy.slow(0)

  expect((await eventually(async () => (await list()).status === 200 && list())).status).toBe(200)
  expect((await create()).status).toBe(201)
})

test('hanging lists and reads leave connections for requests that create tasks', async () => {
  let release = () => {}
  const held = database.db.transaction(async (tx) => {
    await tx.run(sql`lock table run in access exclusive mode`)
    await new Promise<void>((resolve) => {
      release = resolve
    })
  })
  await eventually(async () => {
    const [row] = await database.db.run(sql<{ held: boolean }>`
      select exists (select from pg_locks where mode = 'AccessExclusiveLock'
                     and relation = 'run'::regclass and granted) as held`)
    return row?.held
  })

  const answered: Answer[] = []
  const lists = Array.from({ length: LISTS }, async () => {
    const answer = await node.request('GET', '/v1/runs')
    answered.push(answer)
    return answer
  })
  const reads = Array.from({ length: LISTS }, () => node.request('GET', `/v1/runs/${randomUUID()}`))
  const made = await create()
  await eventually(async () => answered.length === LISTS - CONNECTIONS / 2)
  const refused = [...answered]
  release()
  await held
  const answers = await Promise.all(lists)
  await Promise.all(reads)

  expect(made.status).toBe(201)
  for (const answer of refused) expect(answer).toMatchObject({ status: 503, body: { code: 'database_slow' } })
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(CONNECTIONS / 2)
})
