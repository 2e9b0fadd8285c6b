/** Limits of the runs of a project, over three workers: how many are in progress at once, and how many start. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { allEnded, createAll, heldPlaces } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
await db.run(sql`create table seen (running bigint, claimed_us bigint)`)
await db.run(sql`
  create function see_running() returns trigger language plpgsql as $$
  begin
    insert into seen select count(*), extract(epoch from new.claimed_at) * 1000000 from agenda where state = 'running';
    return null;
  end $$`)
await db.run(sql`
  create trigger see_running after update on agenda for each row
  when (new.state = 'running' and new.fence > old.fence) execute function see_running()`)

const node = await startTestNode(database, { concurrency: 20 })
await startTestNode(database, { concurrency: 20, roles: 'worker' })
await startTestNode(database, { concurrency: 20, roles: 'worker' })

const limit = async (limits: Record<string, unknown>) =>
  (await node.request('PATCH', '/v1/projects/default', { limits })).body
const sleep = (duration: string, more: object = {}) => ({ action: { type: 'sleep', duration }, ...more })
const held = async () =>
  (await db.run(sql<{ held: number }>`select held from project_gate`)).map((row) => row.held)

test('a project never has more running runs than its limit, across all queues and keys', async () => {
  const long = await createAll(node, [sleep('1h'), sleep('1h', { onWorkerLoss: 'fail' })])
  await eventually(async () => (await db.run(sql`select from agenda where state = 'running'`)).length === 2)
  const limited = await limit({ maxRunning: 2 })
  expect(limited).toMatchObject({ limits: { maxRunning: 2 }, use: { running: 2 } })
  await node.request('PATCH', '/v1/queues/slow', { concurrencyLimit: 1 })

  const ids = await createAll(
    node,
    Array.from(
      { length: 24 },
      (_, i) =>
        [
          sleep('10ms'),
          sleep('10ms', { queue: 'slow' }),
          sleep('10ms', { concurrencyKey: 'k', concurrencyLimit: 5 }),
          sleep('10ms', { onWorkerLoss: 'fail', priority: i }),
        ][i % 4] as object,
    ).map((task) => ({ ...task, startAt: new Date(Date.now() + 1_000).toISOString() })),
  )
  const why = await eventually(async () => {
    const { body } = await node.request('GET', `/v1/tasks/${ids[0]}/why`)
    return body.code === 'project_full' && body
  })
  await db.run(sql`delete from seen`)
  for (const id of long) await node.request('POST', `/v1/tasks/${id}/cancel`)
  await allEnded(db, ids)

  expect(why).toMatchObject({ facts: { limit: 2, held: 2 } })
  expect(why.sentence).toContain('the project is at its limit of 2 runs in progress')
  const [most] = await db.run(sql<{ most: number }>`select max(running)::integer as most from seen`)
  expect(most?.most).toBe(2)
  expect(await held()).toEqual([0])
  expect(await heldPlaces(db)).toEqual([])
  await limit({ maxRunning: null })
})

test('a project starts no more runs than its rate allows, until the rate is lifted', async () => {
  await limit({ runRate: '1/h' })
  const ids = await createAll(
    node,
    Array.from({ length: 60 }, (_, i) =>
      sleep('0s', { startAt: new Date(Date.now() + 700).toISOString(), priority: i % 2 }),
    ),
  )
  const last = await eventually(async () => {
    const waiting = await db.run(
      sql<{ id: string }>`select task_id as id from agenda where state = 'pending'`,
    )
    return waiting.length === 59 && waiting[0]?.id
  })
  const { body: why } = await node.request('GET', `/v1/tasks/${last}/why`)
  await db.run(sql`delete from seen`)
  await limit({ runRate: '50/s' })
  await allEnded(db, ids)

  expect(why).toMatchObject({ code: 'project_rate_limited', facts: { rate: '1/h' } })
  const claims = await db.run(sql<{ us: number }>`select claimed_us as us from seen order by 1`)
  expect(claims).toHaveLength(59)
  const excess = claims.flatMap((first, i) =>
    claims.slice(i).filter((one, j) => (j + 1 - 5) * 20_000 > one.us - first.us),
  )
  expect(excess).toEqual([])
  expect(await held()).toEqual([0])
})
