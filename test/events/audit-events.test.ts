/** Entries of the audit log as events: followed over a real socket, and delivered to a real receiver. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { recordChange } from '../../src/operations/audit-log/record-change.ts'
import { createTestDatabase } from '../support/database.ts'
import { openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { request, startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database)
const other = await startTestNode(database, { roles: 'api' })
const SLEEP = { action: { type: 'sleep', duration: '0s' }, schedule: { type: 'manual' } }

const watch = async (query = '', headers: Record<string, string> = {}) => {
  const source = await openEvents(`${other.url}/v1/events?events=audit-log${query}`, headers)
  await source.next('hello')
  return source
}
const about = (id: string) => (event: { subject?: string }) => event.subject === id

test('a change on another node is streamed as a CloudEvent, and ends of runs are not', async () => {
  const source = await watch()
  const { body: task } = await node.request('POST', '/v1/tasks', { name: 'Told', ...SLEEP })
  const { body: run } = await node.request('POST', `/v1/tasks/${task.id}/trigger`)
  await eventually(async () => (await node.request('GET', `/v1/runs/${run.id}`)).body.endedAt !== null)
  await node.request('DELETE', `/v1/tasks/${task.id}`)

  const { data } = await source.next('belfry.audit.task.create', about(task.id))
  await source.next('belfry.audit.task.delete', about(task.id))

  const { body } = await node.request('GET', `/v1/audit-log?subject=${task.id}&action=task.create`)
  expect(data).toEqual({
    specversion: '1.0',
    id: `${body.items[0].id}.recorded`,
    source: `/projects/${DEFAULT_PROJECT_ID}`,
    type: 'belfry.audit.task.create',
    subject: task.id,
    time: body.items[0].at,
    datacontenttype: 'application/json',
    data: { entry: body.items[0] },
  })
  expect(source.events.filter(({ event }) => event.startsWith('belfry.run.'))).toEqual([])
})

test('an entry that commits after a later one is still streamed, and a stream resumes where another stopped', async () => {
  const source = await watch('&action=queue.pause')
  const record = (tx: Parameters<typeof recordChange>[0], id: string) =>
    recordChange(
      tx,
      { projectId: DEFAULT_PROJECT_ID, actor: { kind: 'system', part: 'test' } },
      { action: 'queue.pause', subject: { kind: 'queue', id } },
    )

  await db.transaction(async (tx) => {
    await record(tx, 'early')
    await record(db, 'late')
    await source.next('belfry.audit.queue.pause', about('late'))
  })
  const last = await source.next('belfry.audit.queue.pause', about('early'))
  source.close()
  await record(db, 'meanwhile')
  const again = await watch('&action=queue.pause', { 'last-event-id': last.id })
  await again.next('belfry.audit.queue.pause', about('meanwhile'))

  const told = [...source.events, ...again.events].flatMap(({ data }) => data.subject ?? [])
  expect(told).toEqual(['late', 'early', 'meanwhile'])
})

test('a subscription delivers the changes of its project in order, repeated until accepted', async () => {
  let isTaking = false
  const sink = await startSink(() => ({ status: isTaking ? 200 : 500 }))
  const filter = { events: ['audit-log'], actions: ['queue.limit'] }
  const { body: made, status } = await node.request('POST', '/v1/subscriptions', { url: sink.url, filter })
  for (const concurrencyLimit of [1, 2, 3, 4, 5])
    await node.request('PATCH', '/v1/queues/limited', { concurrencyLimit })
  await eventually(async () => sink.hits.length > 0)

  isTaking = true
  await node.request('POST', `/v1/subscriptions/${made.id}/resume`)

  const taken = () => {
    const events = sink.hits.map(({ body }) => JSON.parse(body))
    return events.filter(({ id }, i) => events.findIndex((event) => event.id === id) === i)
  }
  await eventually(async () => taken().length === 5)
  expect(status).toBe(201)
  expect(taken().map(({ data }) => data.entry.after.concurrencyLimit)).toEqual([1, 2, 3, 4, 5])
  const { body: shown } = await eventually(async () => {
    const answer = await node.request('GET', `/v1/subscriptions/${made.id}`)
    return answer.body.delivered === 5 && answer
  })
  expect(shown).toMatchObject({ state: 'active', held: [], filter })
})

test('a filter list that belongs to other events is refused', async () => {
  const wrong = await node.request('POST', '/v1/subscriptions', {
    url: 'http://127.0.0.1:1/',
    filter: { events: ['audit-log'], states: ['completed'] },
  })
  const other = await node.request('POST', '/v1/subscriptions', {
    url: 'http://127.0.0.1:1/',
    filter: { actions: ['task.create'] },
  })

  expect([wrong.body.errors, other.body.errors]).toMatchObject([
    [{ pointer: '/filter/states' }],
    [{ pointer: '/filter/actions' }],
  ])
})

test('only admins follow the audit log or decide where it is sent', async () => {
  const { body: admin } = await node.request('POST', '/v1/keys', { name: 'admin', role: 'admin' })
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  const keyOf = async (role: string) => {
    const body = { name: role, role, project: 'default' }
    return as((await request(node.url, 'POST', '/v1/keys', body, as(admin.key))).body.key)
  }
  const [editor, owner] = [await keyOf('editor'), await keyOf('admin')]
  const subscribe = (headers: Record<string, string>) =>
    request(
      node.url,
      'POST',
      '/v1/subscriptions',
      { url: 'http://127.0.0.1:1/', filter: { events: ['audit-log'] } },
      headers,
    )
  const made = await subscribe(owner)

  const refused = [
    await subscribe(editor),
    await request(
      node.url,
      'PATCH',
      `/v1/subscriptions/${made.body.id}`,
      { url: 'http://127.0.0.1:2/' },
      editor,
    ),
    await request(node.url, 'DELETE', `/v1/subscriptions/${made.body.id}`, undefined, editor),
    await request(
      node.url,
      'POST',
      `/v1/subscriptions/${made.body.id}/resume`,
      { after: new Date().toISOString() },
      editor,
    ),
    await request(node.url, 'GET', '/v1/events?events=audit-log', undefined, editor),
    await request(node.url, 'GET', '/v1/events?events=audit-log&scope=all', undefined, owner),
  ]

  expect(made.status).toBe(201)
  expect(refused.map(({ status }) => status)).toEqual(Array(6).fill(403))
  await openEvents(`${node.url}/v1/events?events=audit-log&scope=all`, as(admin.key)).then(async (source) => {
    await source.next('hello')
    await request(node.url, 'POST', '/v1/projects', { name: 'told' }, as(admin.key))
    await source.next('belfry.audit.project.create')
  })
})
