/** Concurrency keys: the limit holds at every instant, in strict order, and no place is ever lost. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { allEnded, createAll, heldPlaces, mostAtOnce } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { concurrency: 20 })
const other = await startTestNode(database, { concurrency: 20, roles: 'worker' })

test('a concurrency key never has more running runs than slots, across all workers', async () => {
  const ids = await createAll(
    node,
    Array.from({ length: 40 }, () => ({
      action: { type: 'sleep', duration: '30ms' },
      concurrencyKey: 'three',
      concurrencyLimit: 3,
    })),
  )

  await allEnded(db, ids)

  expect(await mostAtOnce(db, ids)).toBeLessThanOrEqual(3)
  expect(await heldPlaces(db)).toEqual([])
})

test('a key with one slot performs its runs one at a time, in due order', async () => {
  const sink = await startSink()
  const dueAt = Date.now() + 300
  const names = Array.from({ length: 15 }, (_, i) => String(i))
  const ids = await createAll(
    node,
    names.map((name, i) => ({
      action: { type: 'ping', url: `${sink.url}/${name}` },
      startAt: new Date(dueAt + i).toISOString(),
      concurrencyKey: 'one',
    })),
  )

  await allEnded(db, ids)

  expect(sink.hits.map((hit) => hit.path.slice(1))).toEqual(names)
  expect(await mostAtOnce(db, ids)).toBe(1)
})

test('a run that waits for its retry frees its slot for another run', async () => {
  const sink = await startSink(({ path }, count) => ({
    status: path === '/fails' && count === 1 ? 503 : 200,
  }))
  const [fails] = await createAll(node, [
    {
      action: { type: 'ping', url: `${sink.url}/fails` },
      concurrencyKey: 'retry',
      retry: { limit: 1, initial: '5s', max: '5s' },
    },
  ])
  await eventually(async () => sink.hits.length === 1)

  const next = await createAll(node, [
    { action: { type: 'ping', url: `${sink.url}/next` }, concurrencyKey: 'retry' },
  ])

  await allEnded(db, next)
  await allEnded(db, [fails as string])
  expect(await heldPlaces(db)).toEqual([])
})

test('a busy key does not block other keys or runs without a key', async () => {
  const [blocked] = await createAll(node, [
    // Long enough for the others to end before it, also on a busy machine.
    { action: { type: 'sleep', duration: '6s' }, concurrencyKey: 'busy' },
  ])
  await eventually(async () => (await node.request('GET', `/v1/tasks/${blocked}`)).body.state === 'running')
  const waiting = await createAll(node, [
    { action: { type: 'sleep', duration: '0s' }, concurrencyKey: 'busy' },
  ])

  const free = await createAll(node, [
    { action: { type: 'sleep', duration: '0s' }, concurrencyKey: 'idle' },
    { action: { type: 'sleep', duration: '0s' } },
  ])

  await allEnded(db, free)
  expect((await node.request('GET', `/v1/tasks/${waiting[0]}`)).body.state).toBe('pending')
  await allEnded(db, [blocked as string, ...waiting])
})

test('a worker that stops frees the slots of runs that it had not started', async () => {
  await other.stop()
  await eventually(async () => (await heldPlaces(db)).length === 0)
})

test('a later task with the same key changes the number of slots', async () => {
  await createAll(node, [
    { action: { type: 'sleep', duration: '0s' }, concurrencyKey: 'grows', concurrencyLimit: 1 },
  ])
  await createAll(node, [
    { action: { type: 'sleep', duration: '0s' }, concurrencyKey: 'grows', concurrencyLimit: 7 },
  ])

  expect(await db.run(sql`select places from gate where key = 'grows'`)).toEqual([{ places: 7 }])
})
