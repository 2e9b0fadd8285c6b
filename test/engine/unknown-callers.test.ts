/** Callers with invented credentials do not keep the engine from its work. */
import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { makeApiKey } from '../../src/core/access/api-key.ts'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { request, startOneNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const outside = new Database({
  url: database.url,
  applicationName: 'belfry test',
  maxConnections: 1,
  statementTimeoutMs: 30_000,
})
whenDone(() => outside.close())

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
/** More than there are connections. */
const CALLERS = 20

test('tasks fire on time while lookups of invented keys, cookies and worker tokens hang', async () => {
  const sink = await startSink()
  const node = await startOneNode(database)
  const { key } = (await node.request('POST', '/v1/keys', { name: 'first', role: 'admin' })).body
  const at = new Date(Date.now() + 2_000).toISOString()
  const created = await request(
    node.url,
    'POST',
    '/v1/tasks',
    { action: { type: 'webhook', url: sink.url }, schedule: { type: 'once', at } },
    bearer(key),
  )
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const locked = outside.transaction(async (tx) => {
    await tx.run(sql`lock table api_key, session, remote_worker in access exclusive mode`)
    await released
  })

  const token = () => `${randomUUID()}.${randomBytes(32).toString('base64url')}`
  const callers = Array.from({ length: CALLERS }, () => [
    request(node.url, 'GET', '/v1/tasks', undefined, bearer(makeApiKey(randomBytes))),
    request(node.url, 'GET', '/v1/tasks', undefined, {
      cookie: `belfry=${randomBytes(32).toString('base64url')}`,
    }),
    request(node.url, 'POST', '/v1/worker/heartbeat', {}, bearer(token())),
  ]).flat()
  await eventually(async () => sink.hits.length > 0)
  release()
  const answers = await Promise.all(callers)
  await locked

  expect(created.status).toBe(201)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
})
