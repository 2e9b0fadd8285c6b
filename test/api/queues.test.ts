import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { spansOf } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const node = await startTestNode(database, { concurrency: 1 })
const noop = { type: 'sleep', duration: '0s' }

const create = async (task: Record<string, unknown>) =>
  (await node.request('POST', '/v1/tasks', { action: noop, ...task })).body
const stateOf = async (id: string) => (await node.request('GET', `/v1/tasks/${id}`)).body.state
const isFinished = (id: string) => eventually(async () => (await stateOf(id)) === 'finished')

test('a task runs in the default queue or in the queue that it names, which is created with it', async () => {
  const [plain, mail] = [await create({}), await create({ queue: 'mail' })]
  await isFinished(plain.id)
  await isFinished(mail.id)

  expect([plain.queue, mail.queue]).toEqual(['default', 'mail'])
  const { body } = await node.request('GET', '/v1/queues')
  expect(body.items.map((queue: { name: string }) => queue.name)).toEqual(['default', 'mail'])
})

test('a paused queue starts nothing, other queues continue, and resuming starts its waiting runs', async () => {
  await node.request('POST', '/v1/queues/slow/pause')
  // The worker notices a pause within a quarter of a second; what is created before that may still start.
  const probe = async () => {
    const task = await create({ queue: 'slow' })
    await isFinished((await create({})).id)
    return (await stateOf(task.id)) === 'pending' ? task : undefined
  }
  const waiting = await eventually(probe)

  const { body: queue } = await node.request('GET', '/v1/queues/slow')
  expect(queue).toMatchObject({ isPaused: true })
  expect(queue.waiting).toBeGreaterThanOrEqual(1)

  await node.request('POST', '/v1/queues/slow/resume')
  await isFinished(waiting.id)
  expect((await node.request('GET', '/v1/queues/slow')).body).toMatchObject({
    isPaused: false,
    waiting: 0,
    oldest: null,
  })
})

test('waiting runs start by priority, smallest first, then by due instant', async () => {
  const at = new Date(Date.now() + 2_000).toISOString()
  // Long enough for the others to be due and waiting before it ends, also on a busy machine.
  const blocker = await create({ action: { type: 'sleep', duration: '5s' }, startAt: at })
  const later = new Date(Date.parse(at) + 200).toISOString()
  const priorities = { c: 3, a: -5, b: 0, d: 900 }
  const { body } = await node.request('POST', '/v1/tasks/bulk', {
    tasks: Object.entries(priorities).map(([name, priority]) => ({
      ...{ name, priority, startAt: later, action: { type: 'sleep', duration: '20ms' } },
    })),
  })
  const tasks: { id: string; name: string }[] = body.items

  await isFinished(blocker.id)
  await Promise.all(tasks.map(({ id }) => isFinished(id)))

  const runs = await spansOf(
    database.db,
    tasks.map(({ id }) => id),
  )
  expect(runs.map(({ taskId }) => tasks.find(({ id }) => id === taskId)?.name)).toEqual(['a', 'b', 'c', 'd'])
})

test('the waiting runs of a queue are listed page by page, in the order of their start', async () => {
  await node.request('POST', '/v1/queues/held/pause')
  const startAt = new Date(Date.now() + 1_000).toISOString()
  const later = new Date(Date.parse(startAt) + 100).toISOString()
  const { body } = await node.request('POST', '/v1/tasks/bulk', {
    tasks: [
      { name: 'third', queue: 'held', startAt: later },
      { name: 'second', queue: 'held', startAt },
      { name: 'fourth', queue: 'held', startAt, priority: 7, concurrencyKey: 'one' },
      { name: 'first', queue: 'held', startAt: later, priority: -3, labels: ['nowhere'] },
      { name: 'elsewhere', queue: 'other', startAt, labels: ['nowhere'] },
    ].map((task) => ({ action: noop, ...task })),
  })
  await eventually(async () => (await node.request('GET', '/v1/queues/held')).body.waiting === 4)
  const page = async (cursor: string | null) =>
    (await node.request('GET', `/v1/queues/held/runs?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`))
      .body

  const first = await page(null)
  const second = await page(first.nextCursor)

  const names = [...first.items, ...second.items].map(({ taskName }: { taskName: string }) => taskName)
  expect(names).toEqual(['first', 'second', 'third', 'fourth'])
  expect(first.items).toHaveLength(3)
  expect(first.items[0]).toMatchObject({ state: 'pending', taskId: body.items[3].id })
  expect(second.nextCursor).toBeNull()
  expect((await node.request('GET', '/v1/queues/nobody/runs')).status).toBe(404)
  expect((await node.request('GET', '/v1/queues/held/runs?cursor=WzEsMl0')).status).toBe(422)
  await Promise.all(
    body.items.map(({ id }: { id: string }) => node.request('POST', `/v1/tasks/${id}/cancel`)),
  )
  await node.request('POST', '/v1/queues/held/resume')
})

test('a task with labels waits for a worker that offers all of them', async () => {
  const task = await create({ labels: ['gpu', 'eu'] })
  await eventually(async () => (await stateOf(task.id)) === 'pending')
  const partly = await startTestNode(database, { roles: 'worker', labels: 'gpu' })
  await isFinished((await create({})).id)
  expect(await stateOf(task.id)).toBe('pending')

  const able = await startTestNode(database, { roles: 'worker', labels: 'gpu,eu,extra' })
  await isFinished(task.id)

  const { body } = await node.request('GET', `/v1/tasks/${task.id}/runs`)
  expect(body.items[0]).toMatchObject({ state: 'completed', workerId: able.id })
  await partly.stop()
  await able.stop()
})

test('an edit moves the next occurrence to the new queue', async () => {
  const startAt = new Date(Date.now() + 3_600_000).toISOString()
  const task = await create({ startAt, queue: 'first', priority: 4 })

  const { body } = await node.request('PATCH', `/v1/tasks/${task.id}`, {
    queue: 'second',
    priority: -4,
    labels: ['x'],
  })

  expect(body).toMatchObject({ queue: 'second', priority: -4, labels: ['x'], nextFireAt: startAt })
})

test.each([
  ['queue', ''],
  ['queue', 'with space'],
  ['queue', '/'],
  ['queue', 7],
  ['priority', 1.5],
  ['priority', 1_001],
  ['priority', 'high'],
  ['labels', 'gpu'],
  ['labels', ['']],
  ['labels', [1]],
])('%s %j is refused', async (field, value) => {
  const { status, body } = await node.request('POST', '/v1/tasks', { action: noop, [field]: value })

  expect(status).toBe(422)
  expect(body.errors[0].pointer).toMatch(new RegExp(`/${field}`))
})

test('the limit of a queue can be set, read and removed', async () => {
  expect((await node.request('GET', '/v1/queues/default')).body).toMatchObject({
    concurrencyLimit: null,
    running: null,
  })

  const limited = await node.request('PATCH', '/v1/queues/narrow', { concurrencyLimit: 100_000 })
  expect(limited.status).toBe(200)
  expect(limited.body).toMatchObject({ name: 'narrow', concurrencyLimit: 100_000, running: 0, waiting: 0 })
  expect((await node.request('GET', '/v1/queues/narrow')).body).toEqual(limited.body)

  const lifted = await node.request('PATCH', '/v1/queues/narrow', { concurrencyLimit: null })
  expect(lifted.body).toMatchObject({ concurrencyLimit: null, running: null })
})

test('a limited queue shows its running and waiting runs', async () => {
  await node.request('PATCH', '/v1/queues/counted', { concurrencyLimit: 1 })
  const first = await create({ queue: 'counted', action: { type: 'sleep', duration: '10m' } })
  // The order of runs that are created through different nodes within milliseconds is not promised.
  await eventually(async () => (await stateOf(first.id)) === 'running')
  const second = await create({ queue: 'counted' })

  const busy = await eventually(async () => {
    const { body } = await node.request('GET', '/v1/queues/counted')
    return body.running === 1 && body.waiting === 1 && body
  })

  expect(busy).toMatchObject({ concurrencyLimit: 1 })
  await node.request('POST', `/v1/tasks/${first.id}/cancel`)
  await isFinished(second.id)
})

test('an unknown queue gets 404', async () => {
  expect((await node.request('GET', '/v1/queues/nowhere')).status).toBe(404)
  expect((await node.request('GET', '/v1/queues/no%20such')).status).toBe(422)
})
