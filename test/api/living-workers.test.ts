/** No more than 10 000 remote workers live at once, and 5 000 of one project; the dead, and nodes, do not count. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'

const MAX_LIVING = 10_000
const MAX_OF_PROJECT = 5_000
const LEASE_MS = 600_000

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { roles: 'api', leaseMs: LEASE_MS })

/** Workers in the table, without processes behind them. */
const insertWorkers = (count: number, { isDead }: { isDead: boolean }) =>
  db.run(sql`
    insert into node (id, name, version, roles, concurrency, dead_at, reason)
    select gen_random_uuid(), 'worker ' || n, '0', '{remote}', 1, case when ${isDead}::boolean then now() end,
           case when ${isDead}::boolean then 'lost' end
    from generate_series(1, ${count}::integer) n`)

/** The same as workers of a project. */
const insertWorkersOf = (projectId: string, count: number) =>
  db.run(sql`
    with made as (
      insert into node (id, name, version, roles, concurrency)
      select gen_random_uuid(), 'worker of a project ' || n, '0', '{remote}', 1 from generate_series(1, ${count}::integer) n
      returning id)
    insert into remote_worker (id, project_id, handlers, labels, token_hash)
    select id, ${projectId}, '{h}', '{}', '\\x00' from made`)

const countRows = async () => {
  const [row] = await db.run(sql<{ nodes: number; workers: number }>`
    select (select count(*) from node)::integer as nodes, (select count(*) from remote_worker)::integer as workers`)
  return row
}
const register = () => node.request('POST', '/v1/worker/register', { handlers: ['h'] })

test('worker number 10 001 is refused until one of the living workers is gone', async () => {
  await insertWorkers(20, { isDead: true })
  await insertWorkers(MAX_LIVING - 2, { isDead: false })
  const first = await aWorker(node.url, { handlers: ['h'] })
  const last = await register()
  const before = await countRows()

  const refused = await register()

  expect(last.status).toBe(201)
  expect(refused.status).toBe(429)
  expect(refused.body).toMatchObject({ code: 'too_many_workers' })
  expect(Number(refused.headers.get('retry-after'))).toBe(LEASE_MS / 1_000)
  expect(await countRows()).toEqual(before)
  expect((await first.say('heartbeat', { runs: [] })).status).toBe(200)
  await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${first.id}`)
  expect((await register()).status).toBe(201)
  expect((await register()).status).toBe(429)
})

test('worker number 5 001 of a project is refused, and other projects can still register theirs', async () => {
  await db.run(
    sql`update node set dead_at = now(), reason = 'lost' where roles = '{remote}' and dead_at is null`,
  )
  await insertWorkersOf(DEFAULT_PROJECT_ID, MAX_OF_PROJECT - 1)
  await node.request('POST', '/v1/projects', { name: 'others' })
  const last = await register()

  const refused = await register()
  const ofOthers = await node.request(
    'POST',
    '/v1/worker/register',
    { handlers: ['h'] },
    { 'belfry-project': 'others' },
  )

  expect([last.status, refused.status, ofOthers.status]).toEqual([201, 429, 201])
  expect(refused.body).toMatchObject({ code: 'too_many_workers' })
})
