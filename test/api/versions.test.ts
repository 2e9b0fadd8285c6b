/** What a task was, what each edit changed, and going back. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'
import { agendaOf, historyOf } from './rows.ts'

const database = await createTestDatabase()
const { db } = database
const { request } = await startTestNode(database)

const action = { type: 'sleep', duration: '0s' }
const hourly = { type: 'every', interval: '1h' }
const create = async (fields: Record<string, unknown> = {}) =>
  (await request('POST', '/v1/tasks', { action, schedule: hourly, ...fields })).body
const edit = (id: string, fields: unknown) => request('PATCH', `/v1/tasks/${id}`, fields)
const versions = async (id: string, query = '') =>
  (await request('GET', `/v1/tasks/${id}/versions${query}`)).body
const rollback = (id: string, body: unknown, headers?: Record<string, string>) =>
  request('POST', `/v1/tasks/${id}/rollback`, body, headers)
const HOUR_MS = 3_600_000

test('each version shows its author, time, reason and changes', async () => {
  const task = await create({ name: 'report', tags: ['a'], schedule: { type: 'daily', hour: 9, minute: 0 } })
  await edit(task.id, { schedule: { type: 'daily', hour: 10, minute: 0 }, reason: 'after the backup' })
  await edit(task.id, { tags: ['a', 'b'], retry: { limit: 5 } })

  const { items, nextCursor } = await versions(task.id)

  expect(nextCursor).toBeNull()
  expect(items).toMatchObject([
    {
      ...{ version: 3, isCurrent: true, madeBy: '127.0.0.1', reason: null, rollbackOf: null },
      changes: [
        { field: 'tags', before: ['a'], after: ['a', 'b'], isCut: false },
        { field: 'retry.limit', before: 3, after: 5 },
      ],
    },
    {
      ...{ version: 2, isCurrent: false, reason: 'after the backup' },
      changes: [{ field: 'schedule.hour', before: 9, after: 10 }],
    },
    { version: 1, isCurrent: false, madeAt: task.createdAt, madeBy: null, changes: [] },
  ])
  expect(Date.parse(items[0].madeAt)).toBeGreaterThanOrEqual(Date.parse(items[1].madeAt))
})

test('a version shows the whole definition, which can be sent to create a copy', async () => {
  const task = await create({ name: 'first', key: 'readable', metadata: { a: 1 } })
  await edit(task.id, { name: 'second', metadata: {} })

  const { body } = await request('GET', `/v1/tasks/${task.id}/versions/1`)
  const { key: _, ...definition } = body.definition
  const copy = await request('POST', '/v1/tasks', definition)

  expect(body).toMatchObject({ version: 1, isCurrent: false, changes: [] })
  expect(body.definition).toMatchObject({ name: 'first', key: 'readable', metadata: { a: 1 }, action })
  expect(copy.status).toBe(201)
  expect(copy.body).toMatchObject({ name: 'first', metadata: { a: 1 }, schedule: hourly })
  expect((await request('GET', `/v1/tasks/${task.id}/versions/3`)).status).toBe(404)
})

test('versions come in pages, and the last of each page shows its changes too', async () => {
  const task = await create({ name: 'v1' })
  for (let n = 2; n <= 5; n++) await edit(task.id, { name: `v${n}` })

  const first = await versions(task.id, '?limit=2')
  const second = await versions(task.id, `?limit=2&cursor=${first.nextCursor}`)
  const third = await versions(task.id, `?limit=2&cursor=${second.nextCursor}`)

  const all = [...first.items, ...second.items, ...third.items]
  expect(all.map(({ version, changes }) => [version, changes[0]?.before])).toEqual([
    [5, 'v4'],
    [4, 'v3'],
    [3, 'v2'],
    [2, 'v1'],
    [1, undefined],
  ])
  expect(third.nextCursor).toBeNull()
})

test('a rollback creates a new version that equals the old one, including name and key', async () => {
  const before = await create({ name: 'old', owner: 'me', key: 'k-old', tags: ['a'], timeout: '1m' })
  await edit(before.id, { name: 'new', owner: null, key: 'k-new', tags: [], timeout: '2m', priority: 5 })

  const { status, headers, body } = await rollback(before.id, { version: 1, reason: 'it was better' })

  const { version, updatedAt, ...same } = body
  expect([status, headers.get('etag'), version]).toEqual([200, '"3"', 3])
  expect(same).toEqual({ ...before, version: undefined, updatedAt: undefined, ...same })
  expect(body).toMatchObject({
    name: 'old',
    owner: 'me',
    key: 'k-old',
    tags: ['a'],
    timeout: '1m',
    priority: 0,
  })
  const [latest] = (await versions(before.id)).items
  expect(latest).toMatchObject({ version: 3, rollbackOf: 1, reason: 'it was better' })
  expect(latest.changes.map(({ field }: { field: string }) => field).sort()).toEqual(
    ['key', 'name', 'owner', 'priority', 'tags', 'timeout'].sort(),
  )
})

test('a rollback restores the due instants and leaves one row in the agenda', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h', anchor: '2026-01-01T00:10:00Z' } })
  await edit(task.id, { schedule: { type: 'every', interval: '1h', anchor: '2026-01-01T00:40:00Z' } })

  const { body } = await rollback(task.id, { version: 1 })

  expect(body.nextFireAt).toBe(task.nextFireAt)
  expect(Date.parse(body.nextFireAt) % HOUR_MS).toBe(600_000)
  expect(await agendaOf(db, task.id)).toMatchObject([{ version: 3, state: 'scheduled', ordinal: 1 }])
})

test('a rollback is applied only to the version in If-Match', async () => {
  const task = await create({ name: 'a' })
  await edit(task.id, { name: 'b' })

  const stale = await rollback(task.id, { version: 1 }, { 'if-match': '"1"' })
  const right = await rollback(task.id, { version: 1 }, { 'if-match': '"2"' })

  expect(stale.body).toMatchObject({ status: 412, code: 'version_mismatch', currentVersion: 2 })
  expect(right.status).toBe(200)
})

test('a rollback is refused if the endAt has passed or the key is in use', async () => {
  // Long enough for the request to arrive before it, also on a busy machine.
  const endAt = new Date(Date.now() + 5_000).toISOString()
  const ended = await create({ schedule: { type: 'every', interval: '1s' }, endAt })
  await edit(ended.id, { endAt: null })
  const keyed = await create({ key: 'taken-later' })
  await edit(keyed.id, { key: null })
  await create({ key: 'taken-later' })

  const past = await eventually(
    async () => {
      const answer = await rollback(ended.id, { version: 1 })
      return answer.status === 422 ? answer : undefined
    },
    { everyMs: 250 },
  )
  const taken = await rollback(keyed.id, { version: 1 })

  expect(past.body.errors).toEqual([
    { pointer: '/version', detail: 'is 1, which cannot be restored: its endAt is in the past' },
  ])
  expect(taken.body).toMatchObject({ status: 409, code: 'key_in_use' })
  expect((await request('GET', `/v1/tasks/${keyed.id}`)).body.version).toBe(2)
})

test('a rollback keeps a pause, revives a finished task, and is refused for an ended one', async () => {
  const paused = await create()
  await edit(paused.id, { timeout: '1m' })
  await request('POST', `/v1/tasks/${paused.id}/pause`)
  const finished = await create()
  await edit(finished.id, { schedule: { type: 'once', at: new Date().toISOString() } })
  await eventually(async () => (await request('GET', `/v1/tasks/${finished.id}`)).body.state === 'finished')
  const cancelled = await create()
  await edit(cancelled.id, { timeout: '1m' })
  await request('POST', `/v1/tasks/${cancelled.id}/cancel`)
  const deleted = await create()
  await edit(deleted.id, { timeout: '1m' })
  await request('DELETE', `/v1/tasks/${deleted.id}`)

  const answers = await Promise.all(
    [paused, finished, cancelled, deleted].map(({ id }) => rollback(id, { version: 1 })),
  )

  expect(answers.map(({ body }) => body)).toMatchObject([
    { state: 'paused', version: 3, nextFireAt: null },
    { state: 'scheduled', version: 3, schedule: hourly },
    { status: 409, code: 'task_ended' },
    { status: 404, code: 'not_found' },
  ])
  expect((await request('GET', `/v1/tasks/${deleted.id}/versions`)).status).toBe(404)
})

test('every run follows the version that it shows, even when the task is edited meanwhile', async () => {
  const sink = await startSink()
  const webhook = (body: string) => ({ type: 'webhook', url: sink.url, body })
  const task = await create({
    action: webhook('v1'),
    schedule: { type: 'every', interval: '10ms' },
    overlap: 'allow',
  })
  const said = ['v1']
  for (let n = 2; n <= 12; n++) {
    const earlier = said[(n * 7) % (said.length - 1 || 1)] as string
    const isRollback = n % 3 === 0
    const answer = isRollback
      ? await rollback(task.id, { version: said.indexOf(earlier) + 1 })
      : await edit(task.id, { action: webhook(`v${n}`) })
    expect(answer.status).toBe(200)
    said.push(isRollback ? earlier : `v${n}`)
    await eventually(async () => (await historyOf(db, task.id)).some(({ version }) => version === n))
  }
  await request('POST', `/v1/tasks/${task.id}/cancel`)
  const { items } = (await request('GET', `/v1/tasks/${task.id}/runs?limit=200`)).body

  const versionOf = new Map<string, number>(
    items.map(({ id, version }: { id: string; version: number }) => [id, version]),
  )
  const delivered = sink.hits.flatMap(({ headers, body }) => {
    const version = versionOf.get(String(headers['webhook-id']))
    return version === undefined ? [] : [{ body, said: said[version - 1] }]
  })
  expect(delivered.length).toBeGreaterThan(12)
  expect(delivered.filter(({ body, said }) => body !== said)).toEqual([])
  const instants = (await historyOf(db, task.id)).map(({ scheduledFor }) => scheduledFor)
  expect(new Set(instants).size).toBe(instants.length)
})

test.each([
  ['every', { type: 'every', interval: '5m' }],
  ['delay', { type: 'delay', interval: '5m' }],
  ['cron', { type: 'cron', expression: 'H 9 * * MON-FRI', timezone: 'Europe/Vienna' }],
  ['words', 'weekdays at 9 in Vienna'],
])('an identical PUT by key creates no version and keeps the next occurrence: %s', async (key, schedule) => {
  const task = {
    schedule,
    action: { type: 'http', method: 'POST', url: 'https://example.com/', headers: { 'x-api-key': 'abcdef' } },
    // A chain would begin at once.
    ...(key === 'delay' ? { startAt: '2040-01-01T00:00:00Z' } : {}),
    tags: ['b', 'a'],
    retry: { limit: 5 },
  }
  const first = await request('PUT', `/v1/tasks/by-key/same-${key}`, task)

  const again = await request('PUT', `/v1/tasks/by-key/same-${key}`, task)
  const other = await request('PUT', `/v1/tasks/by-key/same-${key}`, { ...task, retry: { limit: 4 } })

  expect(first.status).toBe(201)
  expect(again.status).toBe(200)
  expect(again.body).toEqual(first.body)
  expect(other.body).toMatchObject({ version: 2, nextFireAt: first.body.nextFireAt })
})

test('an edit without a change creates no version, and a stale If-Match is still refused', async () => {
  const { body: task } = await request('POST', '/v1/tasks', {
    name: 'a',
    action: { type: 'sleep', duration: '1s' },
    schedule: { type: 'manual' },
  })

  const same = await request('PATCH', `/v1/tasks/${task.id}`, { name: 'a', timeout: task.timeout })
  const stale = await request('PATCH', `/v1/tasks/${task.id}`, { name: 'a' }, { 'if-match': '"7"' })

  expect(same).toMatchObject({ status: 200, body: { version: 1, updatedAt: task.updatedAt } })
  expect(stale.status).toBe(412)
})
