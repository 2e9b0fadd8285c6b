/** A database that answers every question and takes nothing. */
import { expect, test } from 'vitest'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startOneNode } from '../support/node.ts'

const database = await createTestDatabase()
const outside = new Database({
  url: database.url,
  applicationName: 'outside',
  maxConnections: 1,
  statementTimeoutMs: 30_000,
})
whenDone(() => outside.close())

const [{ name } = { name: '' }] = await outside.run(sql<{ name: string }>`select current_database() as name`)
const SLEEP = { action: { type: 'sleep', duration: '0s' } }

/** Sessions learn it when they begin, so those that are there are ended. */
async function makeReadOnly(): Promise<void> {
  await outside.run({ text: `alter database ${name} set default_transaction_read_only = on`, values: [] })
  await outside.run(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name <> 'outside' and pid <> pg_backend_pid()`)
}

const makeWritable = () =>
  outside.run({ text: `alter database ${name} reset default_transaction_read_only`, values: [] })

test('with a read-only database requests get 503 with the reason, and the node recovers by itself', async () => {
  const node = await startOneNode(database)
  const readiness = async () => node.request('GET', '/readyz')
  expect((await node.request('POST', '/v1/tasks', SLEEP)).status).toBe(201)
  expect(await readiness()).toMatchObject({ status: 200, body: { status: 'ready', code: null } })

  await makeReadOnly()
  whenDone(makeWritable)
  const refused = await eventually(async () => {
    const answer = await node.request('POST', '/v1/tasks', SLEEP)
    return answer.body.code === 'database_read_only' && answer
  })
  expect(refused).toMatchObject({ status: 503, body: { title: 'The database is read-only' } })
  expect(refused.headers.get('retry-after')).toBe('5')
  expect(refused.body.detail).toContain('default_transaction_read_only')
  await eventually(async () => (await readiness()).body.code === 'database_read_only')
  expect(await readiness()).toMatchObject({ status: 503, body: { status: 'not_ready' } })
  const { body: stats } = await eventually(async () => {
    const answer = await node.request('GET', '/v1/stats')
    return answer.body.database?.code === 'database_read_only' && answer
  })
  expect(stats.verdict).toMatchObject({ isFine: false })
  expect(stats.verdict.sentence).toMatch(
    /^Belfry cannot create, start or record anything\. PostgreSQL is read-only/,
  )
  expect((await node.request('GET', '/v1/tasks')).status).toBe(200)
  expect((await node.request('GET', '/healthz')).status).toBe(200)

  await makeWritable()
  await eventually(async () => (await readiness()).status === 200)
  const created = await eventually(async () => {
    const answer = await node.request('POST', '/v1/tasks', SLEEP)
    return answer.status === 201 && answer
  })
  await eventually(
    async () => (await node.request('GET', `/v1/tasks/${created.body.id}`)).body.state === 'finished',
  )
  await eventually(async () => (await node.request('GET', '/v1/stats')).body.database.isWritable)
})
