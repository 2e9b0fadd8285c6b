/** The `/tasks` interface: exact shapes, statuses and codes. */
import { expect, test } from 'vitest'
import { LIST_LIMIT } from '../../src/api/compatible/tasks-routes.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { send } = await createTestApp(await createTestDatabase())
const { request } = await startTestNode(database)

const nextOf = (headers: Record<string, unknown>) =>
  /^<(.+)>; rel="next"$/.exec(String(headers['link']))?.[1] ?? ''

const statusOf = async (id: string) => (await request('GET', `/tasks/${id}`)).body.status

test('a task is scheduled for now, with exactly the fields of the interface', async () => {
  const before = Date.now()

  const { status, body } = await send('POST', '/tasks', { command: '5s' })

  expect(status).toBe(200)
  expect(body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    status: 'SCHEDULED',
    start_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    recurring: '',
    command: '5s',
  })
  expect(Math.abs(Date.parse(body.start_at) - before)).toBeLessThan(60_000)
  expect(await send('GET', `/tasks/${body.id}`)).toMatchObject({ status: 200, body })
})

test('a task is scheduled for later, and repeats', async () => {
  const { body } = await send('POST', '/tasks', {
    command: '10ms',
    start_at: '2099-05-06T07:08:09+02:00',
    recurring: '1m30s',
  })

  expect(body).toMatchObject({
    status: 'SCHEDULED',
    start_at: '2099-05-06T05:08:09.000Z',
    recurring: '1m30s',
    command: '10ms',
  })
})

test.each<[string, unknown, string]>([
  ['no command', {}, '/command'],
  ['a command that is null', { command: null }, '/command'],
  ['a command that is a number', { command: 5 }, '/command'],
  ['a command without unit', { command: '5' }, '/command'],
  ['a command that is a program', { command: 'rm -rf /' }, '/command'],
  ['a command of years', { command: '3000d' }, '/command'],
  ['a start that is no instant', { command: '1s', start_at: 'tomorrow' }, '/start_at'],
  ['a start without zone', { command: '1s', start_at: '2099-01-01T00:00:00' }, '/start_at'],
  ['a start long past', { command: '1s', start_at: '2020-01-01T00:00:00Z' }, '/start_at'],
  ['a repetition too often', { command: '1s', recurring: '1ms' }, '/recurring'],
  ['a repetition in words', { command: '1s', recurring: 'daily' }, '/recurring'],
  ['an unknown field', { command: '1s', recuring: '1s' }, '/recuring'],
  ['a list', [], ''],
])('%s is a bad request', async (_, payload, pointer) => {
  const { status, headers, body } = await send('POST', '/tasks', payload)

  expect(status).toBe(400)
  expect(headers['content-type']).toBe('application/problem+json')
  expect(body).toMatchObject({ code: 'malformed_request', status: 400 })
  expect(body.errors[0].pointer).toBe(pointer)
})

test.each<[string, string, Record<string, string>]>([
  ['broken JSON', '{', {}],
  ['nothing', '', {}],
  ['a form', 'command=5s', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['too much', JSON.stringify({ command: 'x'.repeat(1024 * 1024) }), {}],
])('%s is a bad request', async (_, payload, headers) => {
  expect((await send('POST', '/tasks', payload, headers)).status).toBe(400)
})

test.each(['01900000-0000-7000-8000-000000000000', 'nonsense', '1', 'x'.repeat(300)])(
  'the task %s is not found',
  async (id) => {
    expect((await send('GET', `/tasks/${id}`)).status).toBe(404)
  },
)

test('the list is an array, newest first, and links to its next page', async () => {
  const { body: made } = await send('POST', '/v1/tasks/bulk', {
    tasks: Array.from({ length: LIST_LIMIT + 5 }, () => ({
      action: { type: 'ping', url: 'http://localhost:1/x' },
      schedule: { type: 'cron', expression: '0 9 * * *' },
    })),
  })

  const { status, body, headers } = await send('GET', '/tasks')

  expect(status).toBe(200)
  expect(body).toHaveLength(LIST_LIMIT)
  const ids = made.items.map(({ id }: { id: string }) => id)
  expect(body.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed().slice(0, LIST_LIMIT))
  const next = await send('GET', nextOf(headers))
  expect(next.body.slice(0, 5).map(({ id }: { id: string }) => id)).toEqual(
    ids.toReversed().slice(LIST_LIMIT),
  )
  expect(next.headers['link']).toBeUndefined()
  expect(body[0]).toMatchObject({ status: 'SCHEDULED', recurring: '', command: 'ping http://localhost:1/x' })
})

test('a task goes from scheduled to running to finished', async () => {
  const { body: task } = await request('POST', '/tasks', { command: '200ms' })
  const seen = [task.status]

  await eventually(
    async () => {
      const status = await statusOf(task.id)
      if (status !== seen.at(-1)) seen.push(status)
      return status === 'FINISHED'
    },
    { everyMs: 5 },
  )

  expect(seen.filter((status) => status !== 'PENDING')).toEqual(['SCHEDULED', 'RUNNING', 'FINISHED'])
  expect((await request('GET', `/tasks/${task.id}`)).body.start_at).toBe(task.start_at)
})

test('a task that repeats is scheduled again with a new start, counted from the end of its run', async () => {
  const { body: task } = await request('POST', '/tasks', { command: '100ms', recurring: '1h' })

  const again = await eventually(async () => {
    const { body } = await request('GET', `/tasks/${task.id}`)
    return body.status === 'SCHEDULED' && body.start_at !== task.start_at ? body : undefined
  })

  const waited = Date.parse(again.start_at) - Date.parse(task.start_at)
  expect(waited).toBeGreaterThanOrEqual(3_600_000 + 100)
  expect(waited).toBeLessThan(3_600_000 + 60_000)
})

test('every state of a task is one of the four statuses', async () => {
  const sink = await startSink(() => ({ status: 503 }))
  const create = async (fields: Record<string, unknown>) =>
    (await request('POST', '/v1/tasks', { action: { type: 'sleep', duration: '1h' }, ...fields })).body.id
  const later = { type: 'once', at: '2099-01-01T00:00:00Z' }
  const ping = { type: 'ping', url: sink.url }
  const ids = {
    scheduled: await create({ schedule: later }),
    paused: await create({ schedule: later }),
    running: await create({}),
    retrying: await create({ action: ping, retry: { limit: 1, initial: '1h', max: '1h' } }),
    failed: await create({ action: ping, retry: { limit: 0 } }),
    finished: await create({ action: { type: 'sleep', duration: '0s' } }),
    cancelled: await create({ schedule: later }),
  }
  await request('POST', `/v1/tasks/${ids.paused}/pause`)
  await request('POST', `/v1/tasks/${ids.cancelled}/cancel`)

  const expected = {
    ...{ scheduled: 'SCHEDULED', paused: 'SCHEDULED', running: 'RUNNING', retrying: 'PENDING' },
    ...{ failed: 'FINISHED', finished: 'FINISHED', cancelled: 'FINISHED' },
  }
  for (const [name, id] of Object.entries(ids))
    await eventually(async () => {
      const { openRun } = (await request('GET', `/v1/tasks/${id}`)).body
      const isThere = name !== 'retrying' || openRun?.state === 'retrying'
      return isThere && (await statusOf(id)) === expected[name as keyof typeof expected]
    })
  await request('POST', `/v1/tasks/${ids.running}/cancel`)
})

test('when the database fails, the answer is 500', async () => {
  const lonely = await createTestDatabase()
  const { send: ask } = await createTestApp(lonely)
  await lonely.db.run({ text: 'alter table agenda rename to elsewhere', values: [] })

  expect((await ask('GET', '/tasks')).status).toBe(500)
  expect((await ask('POST', '/tasks', { command: '1s' })).status).toBe(500)
})
