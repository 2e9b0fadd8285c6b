/** No more than 10 000 workers of the users' own live at once; whoever is dead, or is a node, does not count. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'

const MAX_LIVING = 10_000
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
