/** Thousands of queues, in pages. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID as projectId } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { findWaiting, listQueues } from '../../src/store/queues/queues.ts'
import { createTestDatabase } from '../support/database.ts'
import { planOf } from '../support/plan.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { send } = await createTestApp({ db })
const QUEUES = 20_000
const PAGE = 200

await db.run(sql`
  insert into queue (project_id, name) select ${projectId}, 'Tenant-' || lpad(n::text, 5, '0') from generate_series(1, ${QUEUES}::integer) n`)
await db.run(
  sql`insert into gate (project_id, queue) select project_id, name from queue where name <> 'default' on conflict do nothing`,
)
await db.run(sql`
  insert into lane (id, project_id, queue, strict) select 1000 + n, ${projectId}, 'Tenant-' || lpad(n::text, 5, '0'), false
  from generate_series(1, ${QUEUES}::integer) n`)
await db.run(sql`
  insert into ready (lane, priority, wake_at, run_id) select 1007, 0, now() - n * interval '1 second', gen_random_uuid() from generate_series(1, 3) n`)

await db.run(sql`analyze queue, gate, lane, ready`)

test('queues are listed page by page, by name, each one once', async () => {
  const names: string[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`
    const { status, body } = await send('GET', `/v1/queues?limit=${PAGE}&q=tenant-0${query}`)
    expect(status).toBe(200)
    expect(body.items.length).toBeLessThanOrEqual(PAGE)
    names.push(...body.items.map(({ name }: { name: string }) => name))
    cursor = body.nextCursor
  } while (cursor !== null)

  expect(names).toHaveLength(9_999)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual([...names].sort())
})

test('a page shows the number of waiting runs of its queues', async () => {
  const { body } = await send('GET', '/v1/queues?q=TENANT-00007')

  expect(body).toMatchObject({ items: [{ name: 'Tenant-00007', waiting: 3 }], nextCursor: null })
  expect((await send('GET', '/v1/queues/Tenant-00007')).body).toEqual(body.items[0])
})

test('a page reads its own queues and no others', async () => {
  const statement = listQueues({ projectId, part: null, after: 'Tenant-10000', limit: PAGE })
  const plan = await db.snapshot((tx) => planOf(tx, statement), { inOrder: true })

  expect(plan.tablesRead.filter((table) => ['queue', 'lane', 'gate', 'ready'].includes(table))).toEqual([])
  expect(plan.rows).toBeLessThan(10 * PAGE)
})

test('a page of waiting runs reads no more rows than it shows, wherever it begins', async () => {
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id)
    select 1001 + n % 2, n % 5, now() - n * interval '1 millisecond', gen_random_uuid() from generate_series(1, 50000) n`)
  await db.run(sql`update lane set queue = 'Tenant-00001' where id = 1000 + 2`)
  const page = { projectId, name: 'Tenant-00001', limit: PAGE }
  const after = { priority: 3, us: (Date.now() - 20_000) * 1_000, id: uuidv7() }
  const plans = await db.snapshot(
    async (tx) => [
      await planOf(tx, findWaiting({ ...page, after: null })),
      await planOf(tx, findWaiting({ ...page, after })),
    ],
    { inOrder: true },
  )

  for (const plan of plans) {
    expect(plan.tablesRead).toEqual([])
    expect(plan.rows).toBeLessThan(4 * PAGE)
  }
})

test.each(['?limit=0', '?limit=201', '?cursor=nonsense', '?q=', '?name=mail'])(
  '%s is refused',
  async (query) => {
    expect((await send('GET', `/v1/queues${query}`)).status).toBe(422)
  },
)
