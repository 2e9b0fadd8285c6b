/** Windows in which nothing of a project starts by time. */
import { expect, test } from 'vitest'
import { agendaOf, historyOf } from '../api/rows.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'

/** Long enough for what is due inside to be there by then, also on a busy machine. */
const LASTS_MS = 6_000

const iso = (ms: number) => new Date(ms).toISOString()

/** A node of its own: a blackout is about everything in a project. */
async function aNodeWith(effect: 'skip' | 'defer', lastsMs: number) {
  const database = await createTestDatabase()
  const node = await startTestNode(database)
  const until = Date.now() + lastsMs
  const window = { type: 'range', from: iso(Date.now() - 60_000), to: iso(until) }
  const { status, body } = await node.request('POST', '/v1/blackouts', { name: 'freeze', effect, window })
  expect(status).toBe(201)
  expect(body).toMatchObject({ isInForce: true, effect, window })
  const create = async (fields: Record<string, unknown>) =>
    (await node.request('POST', '/v1/tasks', { action: { type: 'sleep', duration: '0s' }, ...fields })).body
  return { db: database.db, node, until, blackout: body, create }
}

test('occurrences in a blackout are skipped with a reason, a trigger runs, and the task continues after it', async () => {
  const { db, node, until, create } = await aNodeWith('skip', LASTS_MS)
  const task = await create({ schedule: { type: 'every', interval: '100ms', anchor: iso(Date.now() + 300) } })

  const { status } = await node.request('POST', `/v1/tasks/${task.id}/trigger`)

  expect(status).toBe(201)
  await eventually(async () =>
    (await historyOf(db, task.id)).some(({ kind, state }) => kind === 'occurrence' && state === 'completed'),
  )
  const history = (await historyOf(db, task.id)).filter(({ kind }) => kind === 'occurrence')
  const inside = history.filter(({ scheduledFor }) => scheduledFor < until)
  expect(inside.length).toBeGreaterThan(3)
  for (const { state, reason } of inside) expect([state, reason]).toEqual(['skipped', 'blackout'])
  expect(history.filter(({ state, scheduledFor }) => state === 'completed' && scheduledFor < until)).toEqual(
    [],
  )
})

test('only the latest deferred occurrence of a task runs when the blackout ends', async () => {
  const { db, until, create } = await aNodeWith('defer', LASTS_MS)
  const task = await create({
    schedule: { type: 'every', interval: '200ms', anchor: iso(until - 700) },
    endAt: iso(until - 50),
    overlap: 'allow',
  })
  await eventually(async () => (await agendaOf(db, task.id)).some(({ state }) => state === 'deferred'))

  await eventually(async () => (await agendaOf(db, task.id)).length === 0)

  const history = await historyOf(db, task.id)
  expect(history.at(-1)).toMatchObject({ state: 'completed', scheduledFor: until - 100 })
  expect(history.length).toBeGreaterThan(1)
  for (const { state, reason } of history.slice(0, -1))
    expect([state, reason]).toEqual(['skipped', 'blackout'])
})

test('removing a blackout releases its deferred runs', async () => {
  const { db, node, blackout, create } = await aNodeWith('defer', 3_600_000)
  const task = await create({ schedule: { type: 'once', at: iso(Date.now() + 100) } })
  await eventually(async () => (await agendaOf(db, task.id)).some(({ state }) => state === 'deferred'))
  expect((await node.request('GET', `/v1/tasks/${task.id}`)).body.state).toBe('pending')

  const removed = await node.request('DELETE', `/v1/blackouts/${blackout.id}`)

  expect(removed.status).toBe(204)
  await eventually(async () => (await historyOf(db, task.id)).length === 1)
  expect(await historyOf(db, task.id)).toMatchObject([{ state: 'completed' }])
  expect((await node.request('DELETE', `/v1/blackouts/${blackout.id}`)).status).toBe(404)
  expect((await node.request('GET', '/v1/blackouts')).body).toEqual({ items: [] })
})

test('a window that never applies is refused with a pointer to the invalid field', async () => {
  const { node } = await aNodeWith('skip', 1_000)
  const refused = async (window: Record<string, unknown>) =>
    (await node.request('POST', '/v1/blackouts', { name: 'x', window })).body.errors?.[0]?.pointer

  expect(await refused({ type: 'range', from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' })).toBe(
    '/window/to',
  )
  expect(await refused({ type: 'range', from: '2030-01-02T00:00:00Z', to: '2030-01-01T00:00:00Z' })).toBe(
    '/window/to',
  )
  expect(await refused({ type: 'cron', expression: '0 9 30 2 *', duration: '1h' })).toBe('/window/expression')
  expect(await refused({ type: 'cron', expression: '0 9 * * *', duration: '1s' })).toBe('/window/duration')
  expect(await refused({ type: 'weekly', days: ['mon'], from: '25:00', to: '06:00' })).toBe('/window/from')
  expect(await refused({ type: 'weekly', days: [], from: '22:00', to: '06:00' })).toBe('/window/days')
  expect(await refused({ type: 'weekly', days: ['mon'], from: '22:00', to: '06:00', timezone: 'Mars' })).toBe(
    '/window/timezone',
  )
})
