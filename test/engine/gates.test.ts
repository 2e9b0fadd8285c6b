/** Concurrency keys: the limit holds at every instant, in strict order, and no place is ever lost. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { concurrency: 20 })
const other = await startTestNode(database, { concurrency: 20, roles: 'worker' })

const createAll = async (tasks: Record<string, unknown>[]) =>
  (await node.request('POST', '/v1/tasks/bulk', { tasks })).body.items.map(
    ({ id }: { id: string }) => id,
  ) as string[]

const allEnded = (ids: readonly string[]) =>
  eventually(
    async () => {
      const [row] = await db.run(
        sql<{
          count: number
        }>`select count(*)::integer as count from run where task_id = any(${ids}::uuid[])`,
      )
      return row?.count === ids.length
    },
    { withinMs: 20_000 },
  )

/** The most attempts that were in progress at one instant, by the database's record of them. */
async function mostAtOnce(ids: readonly string[]): Promise<number> {
  const runs = await db.run(sql<{ startedAt: number; endedAt: number }>`
    select started_at as "startedAt", ended_at as "endedAt" from run where task_id = any(${ids}::uuid[])`)
  const edges = runs.flatMap(({ startedAt, endedAt }) => [
    { at: startedAt, step: 1 },
    { at: endedAt, step: -1 },
  ])
  edges.sort((a, b) => a.at - b.at || a.step - b.step)
  let [now, most] = [0, 0]
  for (const { step } of edges) {
    now += step
    most = Math.max(most, now)
  }
  return most
}

const heldPlaces = async () =>
  db.run(sql<{ key: string; held: number }>`select key, held from gate where held <> 0`)

test('no more runs of a key are in progress than it has places, over all workers', async () => {
  const ids = await createAll(
    Array.from({ length: 40 }, () => ({
      action: { type: 'sleep', duration: '30ms' },
      concurrencyKey: 'three',
      concurrencyLimit: 3,
    })),
  )

  await allEnded(ids)

  expect(await mostAtOnce(ids)).toBeLessThanOrEqual(3)
  expect(await heldPlaces()).toEqual([])
})

test('a key with one place runs one after the other, in the order they were due', async () => {
  const sink = await startSink()
  const dueAt = Date.now() + 300
  const names = Array.from({ length: 15 }, (_, i) => String(i))
  const ids = await createAll(
    names.map((name, i) => ({
      action: { type: 'ping', url: `${sink.url}/${name}` },
      startAt: new Date(dueAt + i).toISOString(),
      concurrencyKey: 'one',
    })),
  )

  await allEnded(ids)

  expect(sink.hits.map((hit) => hit.path.slice(1))).toEqual(names)
  expect(await mostAtOnce(ids)).toBe(1)
})

test('a run that waits for its retry gives its place to another', async () => {
  const sink = await startSink(({ path }, count) => ({
    status: path === '/fails' && count === 1 ? 503 : 200,
  }))
  const [fails] = await createAll([
    {
      action: { type: 'ping', url: `${sink.url}/fails` },
      concurrencyKey: 'retry',
      retry: { limit: 1, initial: '5s', max: '5s' },
    },
  ])
  await eventually(async () => sink.hits.length === 1)

  const next = await createAll([
    { action: { type: 'ping', url: `${sink.url}/next` }, concurrencyKey: 'retry' },
  ])

  await allEnded(next)
  await allEnded([fails as string])
  expect(await heldPlaces()).toEqual([])
})

test('keys do not wait for one another, nor does what has none', async () => {
  const [blocked] = await createAll([{ action: { type: 'sleep', duration: '2s' }, concurrencyKey: 'busy' }])
  await eventually(async () => (await node.request('GET', `/v1/tasks/${blocked}`)).body.state === 'running')
  const waiting = await createAll([{ action: { type: 'sleep', duration: '0s' }, concurrencyKey: 'busy' }])

  const free = await createAll([
    { action: { type: 'sleep', duration: '0s' }, concurrencyKey: 'idle' },
    { action: { type: 'sleep', duration: '0s' } },
  ])

  await allEnded(free)
  expect((await node.request('GET', `/v1/tasks/${waiting[0]}`)).body.state).toBe('pending')
  await allEnded([blocked as string, ...waiting])
})

test('a worker that stops gives back the places of what it had not begun', async () => {
  await other.stop()
  await eventually(async () => (await heldPlaces()).length === 0)
})

test('a later task with the same key sets how many places it has', async () => {
  await createAll([
    { action: { type: 'sleep', duration: '0s' }, concurrencyKey: 'grows', concurrencyLimit: 1 },
  ])
  await createAll([
    { action: { type: 'sleep', duration: '0s' }, concurrencyKey: 'grows', concurrencyLimit: 7 },
  ])

  expect(await db.run(sql`select places from gate where key = 'grows'`)).toEqual([{ places: 7 }])
})
