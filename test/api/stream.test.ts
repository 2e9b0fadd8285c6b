/** The stream of changes, over real sockets, on two nodes of one database. */
import { describe, expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { type CircuitChange, writeCircuits } from '../../src/store/targets/target-circuits.ts'
import { createTestDatabase } from '../support/database.ts'
import { type EventSource, openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { asInLists } from '../support/run-in-lists.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
/** One does everything, the other only answers: what it tells it cannot know from itself. */
const worker = await startTestNode(database)
const watched = await startTestNode(database, { roles: 'api' })

const watch = async (query = '', headers = {}) => {
  const source = await openEvents(`${watched.url}/v1/stream${query}`, headers)
  await source.next('hello')
  return source
}
const create = async (fields: Record<string, unknown>) => {
  const task = {
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'manual' },
    overlap: 'allow',
    ...fields,
  }
  return (await worker.request('POST', '/v1/tasks', task)).body.id as string
}
const trigger = async (id: string) =>
  (await worker.request('POST', `/v1/tasks/${id}/trigger`)).body.id as string
const ended = (id: string) =>
  eventually(async () => (await worker.request('GET', `/v1/runs/${id}`)).body.endedAt !== null)

/** What the stream told of a run, in order. */
const statesOf = ({ events }: EventSource, runId: string): string[] =>
  events.flatMap(({ data }) => data.runs ?? []).flatMap(({ id, state }) => (id === runId ? [state] : []))

const aboutRun = (id: string, state: string) => (data: { runs: { id: string; state: string }[] }) =>
  data.runs.some((run) => run.id === id && run.state === state)

test('begins with the time of the server and must not be cached', async () => {
  const source = await watch()

  expect(source.status).toBe(200)
  expect(source.headers.get('content-type')).toBe('text/event-stream')
  expect(source.headers.get('cache-control')).toBe('no-store')
  const [hello] = source.events
  expect(Math.abs(Date.parse(hello?.data.now) - Date.now())).toBeLessThan(60_000)
  expect(hello?.id).toMatch(/^\d+$/)
})

test('reports the runs of another node, with their task, from creation to end', async () => {
  const source = await watch()

  const taskId = await create({ name: 'watched', schedule: { type: 'every', interval: '1h' } })
  const made = await source.next('changes', ({ tasks }) =>
    tasks.some(({ id }: { id: string }) => id === taskId),
  )
  const runId = await trigger(taskId)
  const { data } = await source.next('changes', aboutRun(runId, 'completed'))

  expect(made.data.tasks).toMatchObject([{ id: taskId, name: 'watched', state: 'scheduled' }])
  const [run] = data.runs.filter(({ id }: { id: string }) => id === runId)
  const { output: _, ...whole } = asInLists((await worker.request('GET', `/v1/runs/${runId}`)).body)
  expect(run).toEqual({ ...whole, outcome: '' })
  expect(data.tasks).toMatchObject([{ id: taskId, state: 'scheduled', nextFireAt: expect.any(String) }])
})

test('reports each lasting state: running, retrying, cancelled', async () => {
  const source = await watch()
  const sink = await startSink(() => ({ status: 503 }))
  const failing = await trigger(
    await create({ action: { type: 'ping', url: sink.url }, retry: { limit: 2, initial: '1h', max: '1h' } }),
  )
  const long = await trigger(await create({ action: { type: 'sleep', duration: '1h' } }))

  await source.next('changes', aboutRun(failing, 'retrying'))
  await source.next('changes', aboutRun(long, 'running'))
  await worker.request('POST', `/v1/runs/${long}/cancel`)
  await worker.request('POST', `/v1/runs/${failing}/cancel`)
  await source.next('changes', aboutRun(long, 'cancelled'))
  await source.next('changes', aboutRun(failing, 'cancelled'))

  expect(statesOf(source, failing).at(-1)).toBe('cancelled')
  expect(statesOf(source, long).at(-1)).toBe('cancelled')
})

test('reports the outcome of a run in words, without its output', async () => {
  const source = await watch()
  const sink = await startSink(({ path }) => ({
    status: path === '/bad' ? 404 : 200,
    body: 'x'.repeat(1_000),
  }))
  const call = (path: string) =>
    create({ action: { type: 'ping', url: sink.url + path }, retry: { limit: 0 } }).then(trigger)
  const [good, bad] = [await call('/good'), await call('/bad')]

  const told = async (id: string, state: string) =>
    (await source.next('changes', aboutRun(id, state))).data.runs.find((run: { id: string }) => run.id === id)
  const [completed, failed] = [await told(good, 'completed'), await told(bad, 'permanently_failed')]

  expect(completed).toMatchObject({ outcome: 'HTTP 200' })
  expect(completed).not.toHaveProperty('output')
  expect(failed.outcome).toMatch(/^HTTP 404 from 127\.0\.0\.1/)
})

test('reports edits, pauses and deletions through any node', async () => {
  const source = await watch()
  const taskId = await create({})
  const about = (isSo: (task: { version: number; state: string }) => boolean) =>
    source.next('changes', ({ tasks }) =>
      tasks.some((task: { id: string; version: number; state: string }) => task.id === taskId && isSo(task)),
    )

  await worker.request('PATCH', `/v1/tasks/${taskId}`, { name: 'other' })
  await about(({ version }) => version === 2)
  await watched.request('POST', `/v1/tasks/${taskId}/pause`)
  await about(({ state }) => state === 'paused')
  await worker.request('DELETE', `/v1/tasks/${taskId}`)
  await source.next('changes', ({ deletedTasks }) => deletedTasks.includes(taskId))
})

test('reports circuits that open and close, but not failed probes', async () => {
  const source = await watch()
  const target = 'https://circuit.example'
  const openedAt = Date.now()
  const error = { code: 'connect_refused', message: 'refused', at: openedAt }
  const open = { projectId: DEFAULT_PROJECT_ID, target, state: 'open' as const, openedAt, error }
  const write = (change: CircuitChange) => db.run(writeCircuits(worker.id, [change]))
  const circuits = () =>
    source.events.flatMap(({ event, data }) => (event === 'changes' ? data.circuits : []))

  await write({ ...open, until: openedAt + 5_000 })
  await source.next('changes', ({ circuits }) => circuits.length > 0)
  await write({ ...open, until: openedAt + 15_000 })
  await write({ ...open, state: 'closed', until: null })
  await source.next('changes', ({ circuits: [first] }) => first?.event === 'target.circuit_closed')

  expect(circuits()).toMatchObject([
    { event: 'target.circuit_opened', target, error: { code: 'connect_refused', message: 'refused' } },
    { event: 'target.circuit_closed', target, nextProbeAt: null },
  ])
})

test('can be bounded to one task', async () => {
  const [mine, other] = [await create({}), await create({})]
  const source = await watch(`?taskId=${mine}`)

  const others = await trigger(other)
  await ended(others)
  const run = await trigger(mine)
  await source.next('changes', aboutRun(run, 'completed'))

  const told = source.events.flatMap(({ data }) => [
    ...(data.runs ?? []).map((r: { taskId: string }) => r.taskId),
  ])
  expect(new Set(told)).toEqual(new Set([mine]))
  expect(statesOf(source, others)).toEqual([])
})

describe('a client that reconnects', () => {
  test('receives the changes that it has missed, on any node', async () => {
    const source = await watch()
    const runId = await trigger(await create({}))
    await source.next('changes', aboutRun(runId, 'completed'))
    const lastEventId = source.events.at(-1)?.id ?? ''
    source.close()
    const missed = await trigger(await create({}))
    await ended(missed)

    const again = await openEvents(`${worker.url}/v1/stream`, { 'last-event-id': lastEventId })

    await again.next('changes', aboutRun(missed, 'completed'))
    expect(again.events.map(({ event }) => event).slice(0, 2)).toEqual(['hello', 'changes'])
  })

  test.each(['1', '99999999999999', 'not an id', '01900000-0000-7000-8000-000000000000'])(
    'with the id %s is asked to reload everything',
    async (lastEventId) => {
      const again = await watch('', { 'last-event-id': lastEventId })

      const { data } = await again.next('reload')

      expect(data).toMatchObject({ reason: 'too_old', now: expect.any(String) })
    },
  )
})

test('ends at once when its node stops', async () => {
  const node = await startTestNode(database, { roles: 'api' })
  const sources = await Promise.all(Array.from({ length: 5 }, () => openEvents(`${node.url}/v1/stream`)))
  await Promise.all(sources.map((source) => source.next('hello')))

  await node.stop()

  await Promise.all(sources.map((source) => source.ended))
})

test('accepts only GET and known parameters', async () => {
  const head = await fetch(`${watched.url}/v1/stream`, { method: 'HEAD' })
  const unknown = await fetch(`${watched.url}/v1/stream?task=1`)

  expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET, OPTIONS'])
  expect(unknown.status).toBe(422)
  expect(await unknown.json()).toMatchObject({ errors: [{ pointer: '?task' }] })
})

test('reports many changes in few messages, marked as incomplete', async () => {
  const source = await watch()
  const startedAt = performance.now()
  const tasks = Array.from({ length: 600 }, () => ({ action: { type: 'sleep', duration: '0s' } }))

  const { body } = await worker.request('POST', '/v1/tasks/bulk', { tasks })
  await eventually(async () => {
    const rows = await db.run(sql<{ left: number }>`
      select count(*)::integer as left from agenda where task_id = any(${body.items.map(({ id }: { id: string }) => id)}::uuid[])`)
    return rows[0]?.left === 0
  })
  await source.next('changes', ({ isComplete }) => !isComplete)

  const messages = source.events.filter(({ event, at }) => event === 'changes' && at >= startedAt)
  const seconds = (performance.now() - startedAt) / 1_000
  expect(messages.length).toBeLessThanOrEqual(Math.ceil(seconds * 2) + 1)
  for (const { data } of messages) {
    expect(data.runs.length).toBeLessThanOrEqual(100)
    expect(data.tasks.length).toBeLessThanOrEqual(200)
  }
})
