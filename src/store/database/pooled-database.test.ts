/** How statements go out where a session lasts for one transaction only. PgBouncer itself: npm run suite pooler. */
import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { startProxy } from '../../../test/support/proxy.ts'
import { Database, sqlState } from './database.ts'
import { meet } from './pooling.ts'
import { sql } from './sql.ts'

const { url, db } = await createTestDatabase()

function pooled(changes: { url?: string; statementTimeoutMs?: number } = {}): Database {
  const database = new Database({
    url,
    applicationName: 'belfry test',
    maxConnections: 1,
    statementTimeoutMs: 5_000,
    favourIndexes: true,
    pooling: 'transaction',
    ...changes,
  })
  afterAll(() => database.close())
  return database
}

const settings = () => sql<{
  timeout: string
  zone: string
  jit: string
  seqscan: string
  bitmapscan: string
}>`
  select current_setting('statement_timeout') as timeout, current_setting('timezone') as zone,
         current_setting('jit') as jit, current_setting('enable_seqscan') as seqscan,
         current_setting('enable_bitmapscan') as bitmapscan`

test('settings apply to single statements and transactions, but not to the session', async () => {
  const database = pooled()
  const expected = { timeout: '5s', zone: 'UTC', jit: 'off', seqscan: 'off', bitmapscan: 'off' }

  expect(await database.run(settings())).toEqual([expected])
  expect(await database.transaction((tx) => tx.run(settings()))).toEqual([expected])

  // Settings of a session would outlast a rollback; those of a transaction are undone by it.
  const undone = await database.transaction(async (tx) => {
    await tx.run(sql`rollback`)
    return tx.run(settings())
  })
  expect(undone).toEqual([expect.objectContaining({ timeout: '0', seqscan: 'on', bitmapscan: 'on' })])
})

test('a statement that is refused says why, changes nothing, and leaves its connection in order', async () => {
  const database = pooled()
  await db.run(sql`create table thing (id integer primary key)`)
  const backend = async () =>
    (await database.run(sql<{ pid: number }>`select pg_backend_pid() as pid`))[0]?.pid
  const before = await backend()

  await database.run(sql`insert into thing values (1)`)
  const refusal = await database.run(sql`insert into thing values (2), (1)`).catch((error: unknown) => error)

  expect(sqlState(refusal)).toBe('23505')
  expect(await db.run(sql`select id from thing`)).toEqual([{ id: 1 }])
  expect(await backend()).toBe(before)
})

test('a statement that takes too long is ended by the server', async () => {
  const database = pooled({ statementTimeoutMs: 50 })

  const failure = await database.run(sql`select pg_sleep(5)`).catch((error: unknown) => error)

  expect(sqlState(failure)).toBe('57014')
})

test('a connection that breaks in the middle is replaced', async () => {
  const proxy = await startProxy(url)
  const database = pooled({ url: proxy.url })
  await database.run(sql`select 1`)

  const broken = database.run(sql`select pg_sleep(5)`)
  proxy.cut()
  await expect(broken).rejects.toThrow()
  proxy.mend()

  await eventually(async () => (await database.run(sql`select 1`)).length === 1)
})

test('PostgreSQL is distinguished from a pooler, also through a plain proxy', async () => {
  const proxy = await startProxy(url)

  expect(await meet(url)).toEqual({ version: expect.stringMatching(/^\d+\.\d+/), pooler: null })
  expect((await meet(proxy.url)).pooler).toBeNull()
})
