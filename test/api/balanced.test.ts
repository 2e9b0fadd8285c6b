/** Two nodes behind a balancer that sends every request to the other one: whatever needs several requests works all the same. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { startBalancer } from '../support/balancer.ts'
import { createTestDatabase } from '../support/database.ts'
import { openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { request, startOneNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'

const database = await createTestDatabase()
const balancer = await startBalancer()
const nodes = [await startOneNode(database), await startOneNode(database, { roles: 'api' })]
balancer.servers.push(...nodes.map(({ url }) => url))

const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  request(balancer.url, method, path, body, headers)
const sleep = { type: 'sleep', duration: '0s' }
const later = { type: 'once', at: '2099-01-01T00:00:00Z' }

test('a task is created, read, edited, triggered, paused, followed and deleted', async () => {
  const made = await ask('POST', '/v1/tasks', { action: sleep, schedule: { type: 'manual' }, name: 'first' })
  const path = `/v1/tasks/${made.body.id}`
  const stale = await ask('PATCH', path, { name: 'second' }, { 'if-match': '"1"' })
  const refused = await ask('PATCH', path, { name: 'third' }, { 'if-match': '"1"' })
  const run = await ask('POST', `${path}/trigger`)
  const ended = await eventually(async () => {
    const { body } = await ask('GET', `/v1/runs/${run.body.id}`)
    return body.endedAt !== null && body
  })
  const paused = await ask('POST', `${path}/pause`)
  const shown = await ask('GET', path)
  const resumed = await ask('POST', `${path}/resume`)
  const rolledBack = await ask('POST', `${path}/rollback`, { version: 1 })
  const versions = await ask('GET', `${path}/versions`)
  const deleted = await ask('DELETE', path)
  const gone = await ask('GET', path)

  expect([made, stale, refused, run].map(({ status }) => status)).toEqual([201, 200, 412, 201])
  expect(ended.state).toBe('completed')
  expect([paused.status, shown.body.state, resumed.status]).toEqual([200, 'paused', 200])
  expect(rolledBack.body.name).toBe('first')
  expect(versions.body.items).toHaveLength(3)
  expect([deleted.status, gone.status]).toEqual([204, 404])
})

test('of several requests with one Idempotency-Key one is carried out, whichever nodes receive them', async () => {
  const header = { 'idempotency-key': 'balanced' }
  const create = () => ask('POST', '/v1/tasks', { action: sleep, schedule: later }, header)

  const answers = await Promise.all(Array.from({ length: 12 }, create))
  const again = await create()
  const other = await ask('POST', '/v1/tasks', { action: sleep }, header)

  expect(new Set([...answers, again].map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
})

test('tasks created in bulk are listed page by page, each one once', async () => {
  const tasks = Array.from({ length: 450 }, (_, i) => ({
    action: sleep,
    schedule: later,
    tags: ['bulk'],
    name: `task ${i}`,
  }))
  const made = await ask('POST', '/v1/tasks/bulk', { tasks })

  const listed: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const { body } = await ask('GET', `/v1/tasks?tag=bulk&limit=40${query}`)
    listed.push(...body.items.map(({ id }: { id: string }) => id))
    cursor = body.nextCursor
  }

  const ids = made.body.items.map(({ id }: { id: string }) => id)
  expect(made.status).toBe(201)
  expect(listed).toHaveLength(450)
  expect(new Set(listed)).toEqual(new Set(ids))
})

test('an interrupted stream continues at the other node where it stopped', async () => {
  const { body: task } = await ask('POST', '/v1/tasks', {
    action: sleep,
    schedule: { type: 'manual' },
    overlap: 'allow',
  })
  const trigger = async () => (await ask('POST', `/v1/tasks/${task.id}/trigger`)).body.id
  const endOf = (id: string) => (event: { subject?: string }) => JSON.stringify(event).includes(id)
  const path = `${balancer.url}/v1/events?taskId=${task.id}`
  const first = await openEvents(path)
  await first.next('hello')
  const one = await trigger()
  const last = await first.next('belfry.run.completed', endOf(one))
  first.close()
  const meanwhile = await trigger()
  await eventually(async () => (await ask('GET', `/v1/runs/${meanwhile}`)).body.endedAt !== null)

  const second = await openEvents(path, { 'last-event-id': last.id })
  await second.next('belfry.run.completed', endOf(meanwhile))
  const after = await trigger()
  await second.next('belfry.run.completed', endOf(after))

  const told = [...first.events, ...second.events].flatMap(({ event, data }) =>
    event.startsWith('belfry.run.') ? data.data.run.id : [],
  )
  expect(told).toEqual([one, meanwhile, after])
})

test('a worker registers at one node, and claims and reports at others', async () => {
  const worker = await aWorker(balancer.url, { handlers: ['balanced'] })
  const action = { type: 'handler', name: 'balanced', payload: { n: 1 } }
  const { body: task } = await ask('POST', '/v1/tasks', { action })

  const [given] = await worker.claim(1)
  const report = { runId: given?.runId, fence: given?.fence, outcome: 'completed', result: 'done' }
  await worker.say('heartbeat', { runs: [{ runId: given?.runId, fence: given?.fence }] })
  const reports = [
    await worker.say('complete', { runs: [report] }),
    await worker.say('complete', { runs: [report] }),
  ]

  expect(given).toMatchObject({ taskId: task.id, payload: { n: 1 } })
  expect(reports.map(({ body }) => body.runs[0].recorded)).toEqual([true, true])
})

test('a file is uploaded in parts to different nodes', async () => {
  const content = Buffer.from(Array.from({ length: 600_000 }, (_, i) => i % 251))
  const sha256 = createHash('sha256').update(content).digest('hex')
  const made = await ask('POST', '/v1/files', { name: 'parts', size: content.length, sha256 })
  const { pathname, search } = new URL(made.body.uploadUrl)
  const size = 262_144
  const statuses: number[] = []
  for (let from = 0; from < content.length; from += size) {
    const part = content.subarray(from, from + size)
    const answer = await fetch(balancer.url + pathname + search, {
      method: 'PUT',
      headers: { 'content-range': `bytes ${from}-${from + part.length - 1}/${content.length}` },
      body: part,
    })
    statuses.push(answer.status)
  }

  const { body: file } = await ask('GET', `/v1/files/${made.body.id}`)
  const read = await fetch(`${balancer.url}/v1/files/${made.body.id}/content`)

  expect(statuses).toEqual([200, 200, 200])
  expect(file).toMatchObject({ state: 'ready', sha256 })
  expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true)
})
