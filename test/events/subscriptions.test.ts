/** Events by webhook, from real nodes to a real receiver. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/project.ts'
import { sql } from '../../src/store/sql.ts'
import { findSubscriptions, type SubscriptionRow, saveFailed } from '../../src/store/subscriptions.ts'
import { Tester } from '../../src/worker/subscriptions/tester.ts'
import { type Received, startPeer } from '../calls/peer.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { type Hit, startSharedSink, startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database)

const create = async (fields: Record<string, unknown> = {}) => {
  const task = {
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'manual' },
    overlap: 'allow',
    ...fields,
  }
  return (await node.request('POST', '/v1/tasks', task)).body.id as string
}
const trigger = async (id: string) =>
  (await node.request('POST', `/v1/tasks/${id}/trigger`)).body.id as string

async function subscribe(fields: Record<string, unknown>) {
  const { status, body } = await node.request('POST', '/v1/subscriptions', fields)
  expect(status).toBe(201)
  return body
}
const read = async (id: string) => (await node.request('GET', `/v1/subscriptions/${id}`)).body

const eventsOf = (hits: readonly Hit[]) =>
  hits.flatMap(
    ({ body }) =>
      JSON.parse(body) as { id: string; type: string; data: { run: { id: string } } }[] | { id: string },
  )
const runIdsOf = (hits: readonly Hit[]) =>
  eventsOf(hits).map((event) => (event as { id: string }).id.split('.')[0])

test('an event is sent as a CloudEvent under an id that is its own, and verified by the reference library', async () => {
  const receiver = await startPeer<Received>('../calls/receiver-process.mjs')
  const url = `http://127.0.0.1:${receiver.port}`
  const secret = `whsec_${Buffer.from('a secret of some thirty-two bytes').toString('base64')}`
  const taskId = await create({ name: 'signed', tracingId: 'order 7' })
  const filter = { taskIds: [taskId.toUpperCase()] }
  const single = await subscribe({ url: `${url}/single`, secret, filter })
  const batches = await subscribe({ url: `${url}/batches`, batchSize: 5, filter })
  await receiver.say({ secrets: [secret, batches.secret] })

  const runId = await trigger(taskId)
  await trigger(await create())
  const told = await eventually(async () => {
    const now = await read(single.id)
    return now.delivered === 1 && receiver.told.length === 2 ? now : undefined
  })

  const [one, many] = ['/single', '/batches'].map((path) => receiver.told.find((hit) => hit.path === path))
  expect(one?.verified).toEqual([true, false])
  expect(many?.verified).toEqual([false, true])
  expect(one?.headers).toMatchObject({
    'webhook-id': `${runId}.ended`,
    'content-type': 'application/cloudevents+json',
    'belfry-subscription-id': single.id,
  })
  expect(JSON.parse(one?.body ?? '')).toMatchObject({
    id: `${runId}.ended`,
    type: 'belfry.run.completed',
    subject: taskId,
    data: { run: { id: runId }, task: { name: 'signed', tracingId: 'order 7' } },
  })
  expect(told).toMatchObject({
    state: 'active',
    lastEvent: { id: `${runId}.ended` },
    failures: 0,
    lastError: null,
  })
  expect(told.secret).toBeUndefined()
})

test('several events go into one message where a subscription asks for it', async () => {
  const sink = await startSink()
  const taskId = await create()
  const since = new Date(Date.now() - 60_000).toISOString()
  const runs = await Promise.all(Array.from({ length: 25 }, () => trigger(taskId)))
  await eventually(async () => {
    const { body } = await node.request('GET', `/v1/runs?taskId=${taskId}&state=completed&limit=100`)
    return body.items.length === runs.length
  })

  await subscribe({ url: sink.url, batchSize: 10, after: since, filter: { taskIds: [taskId] } })
  await eventually(async () => runIdsOf(sink.hits).length >= runs.length)

  expect(runIdsOf(sink.hits).toSorted()).toEqual(runs.toSorted())
  expect(sink.hits.map(({ body }) => JSON.parse(body).length)).toEqual([10, 10, 5])
  expect(sink.hits[0]?.headers['content-type']).toBe('application/cloudevents-batch+json')
})

// Each waits for seconds on end, and none minds the others.

test.concurrent('what is not taken is sent again, under the same id, and nothing of its task overtakes it', async () => {
  const failures = new Map<string, number>()
  const sink = await startSharedSink((hit) => {
    const id = String(hit.headers['webhook-id'])
    const count = failures.get(id) ?? 0
    failures.set(id, count + 1)
    return { status: count === 0 ? 503 : 204, headers: { 'retry-after': '0' } }
  })
  const taskId = await create()
  const subscription = await subscribe({ url: sink.url, filter: { taskIds: [taskId] } })
  const runs: string[] = []
  for (let i = 0; i < 3; i++) {
    const id = await trigger(taskId)
    await eventually(async () => (await node.request('GET', `/v1/runs/${id}`)).body.endedAt !== null)
    runs.push(id)
  }
  const failing = await eventually(async () => {
    const now = await read(subscription.id)
    return now.state === 'failing' ? now : undefined
  })
  await eventually(async () => (await read(subscription.id)).delivered >= 3)

  const ids = runIdsOf(sink.hits)
  expect(failing).toMatchObject({
    lastError: { code: 'http_status', message: expect.stringContaining('503') },
  })
  expect(ids.filter((id, i) => ids.indexOf(id) === i)).toEqual(runs)
  for (const [i, id] of runs.entries())
    if (i > 0) expect(ids.indexOf(id)).toBeGreaterThan(ids.lastIndexOf(runs[i - 1] as string))
})

test.concurrent('a receiver that is gone disables its subscription, which says where it stopped and goes on when resumed', async () => {
  let status = 410
  const sink = await startSharedSink(() => ({ status }))
  const taskId = await create()
  const { id, position } = await subscribe({ url: sink.url, filter: { taskIds: [taskId] } })
  const runId = await trigger(taskId)

  const disabled = await eventually(async () => {
    const now = await read(id)
    return now.state === 'disabled' ? now : undefined
  })
  const later = await trigger(taskId)
  status = 200
  const resumed = await node.request('POST', `/v1/subscriptions/${id}/resume`)
  await eventually(async () => runIdsOf(sink.hits).includes(later))
  await node.request('POST', `/v1/subscriptions/${id}/resume`, { after: position })
  await eventually(async () => runIdsOf(sink.hits).filter((hit) => hit === later).length === 2)

  expect(disabled).toMatchObject({
    disabledAt: expect.any(String),
    delivered: 0,
    lastError: { code: 'http_status', message: expect.stringContaining('410') },
  })
  expect(resumed.body).toMatchObject({ state: 'active', failures: 0, lastError: null })
  expect(runIdsOf(sink.hits)).toEqual([runId, runId, later, runId, later])
})

test.concurrent('a change of what fails is tried at once, also when a message is on its way to where it failed', async () => {
  const { id } = await subscribe({ url: 'http://127.0.0.1:1/', filter: { owners: ['nobody'] } })
  const held = await eventually(async () => {
    const [row] = await db.run(
      sql<{ fence: number }>`update subscription set failures = 7, failing_since = now()
                             where id = ${id} and holder is not null returning fence`,
    )
    return row
  })
  const error = { code: 'connect_refused', message: 'connection refused' }

  await node.request('PATCH', `/v1/subscriptions/${id}`, { name: 'mended' })
  const late = await db.run(saveFailed({ id, fence: held.fence, error, retryInMs: 300_000, isFinal: false }))

  expect(late).toEqual([])
  expect(await read(id)).toMatchObject({ name: 'mended', retryAt: null })
})

/** A receiver that refuses the events of some tasks. */
async function startPickySink() {
  const refused = new Set<string>()
  /** Runs whose events were taken, each once, in the order of the first time. */
  const taken = new Set<string>()
  const sink = await startSharedSink((hit) => {
    const events = [JSON.parse(hit.body)].flat() as { subject: string }[]
    if (events.some(({ subject }) => refused.has(subject))) return { status: 500 }
    for (const id of runIdsOf([hit])) taken.add(id as string)
    return { status: 200 }
  })
  return { ...sink, refused, taken }
}
/** Runs tasks one after another, so that the order of each is known. */
async function runInTurn(taskIds: readonly string[]) {
  const runs: string[] = []
  for (const taskId of taskIds) {
    const id = await trigger(taskId)
    await patiently(async () => (await node.request('GET', `/v1/runs/${id}`)).body.endedAt !== null)
    runs.push(id)
  }
  return runs
}
const isTold = ({ taken }: { taken: Set<string> }, runs: readonly string[]) =>
  runs.every((id) => taken.has(id))
/** A change is noticed within 5 s, and machines may be busy. */
const patiently = <T>(ask: () => Promise<T | undefined | false | null>) => eventually(ask, { everyMs: 50 })
const LONG = { timeout: 240_000 }
/** Whoever delivers reads the subscription anew. */
const age = (id: string) =>
  db.run(sql`
  update subscription set failing_since = failing_since - interval '2 hours', retry_at = '-infinity', fence = fence + 1,
    held = (select coalesce(jsonb_agg(h || jsonb_build_object('failingSince', (h ->> 'failingSince')::bigint - 7200000, 'retryAt', 0)), '[]')
            from jsonb_array_elements(held) h)
  where id = ${id}`)

test.concurrent.each([1, 10])(
  'one task whose event is refused does not hold up others, in messages of up to %i',
  LONG,
  async (batchSize) => {
    const sink = await startPickySink()
    const tasks = [await create(), await create(), await create()] as const
    const [bad, ...good] = tasks
    sink.refused.add(bad)
    const { id } = await subscribe({ url: sink.url, batchSize, filter: { taskIds: [...tasks] } })

    const first = await runInTurn([bad, ...good])
    await patiently(async () => isTold(sink, first.slice(1)) && (await read(id)).held.length === 1)
    const second = await runInTurn([bad, ...good])
    await patiently(async () => isTold(sink, second.slice(1)))
    const failing = await patiently(async () => {
      const now = await read(id)
      return now.held[0]?.failures > 0 && now.delivered >= 4 ? now : undefined
    })
    const early = sink.taken.has(second[0] as string)
    sink.refused.clear()
    await node.request('PATCH', `/v1/subscriptions/${id}`, { name: 'mended' })
    const mended = await patiently(async () => {
      const now = await read(id)
      return isTold(sink, second) && now.held.length === 0 ? now : undefined
    })

    expect(failing).toMatchObject({
      state: 'failing',
      retryAt: expect.any(String),
      lastError: { code: 'http_status', message: expect.stringContaining('500') },
      held: [{ taskId: bad, retryAt: expect.any(String), lastError: { code: 'http_status' } }],
    })
    expect(early).toBe(false)
    expect(mended).toMatchObject({ state: 'active', lastError: null, failures: 0 })
    const ofBad = [...sink.taken].filter((run) => run === first[0] || run === second[0])
    expect(ofBad).toEqual([first[0], second[0]])
  },
)

test.concurrent(
  'a receiver that refuses everything is left alone, and told all of it once it takes something',
  LONG,
  async () => {
    const sink = await startPickySink()
    const tasks = await Promise.all(Array.from({ length: 8 }, () => create()))
    for (const task of tasks) sink.refused.add(task)
    const since = new Date(Date.now() - 1_000).toISOString()
    const runs = await runInTurn([...tasks, ...tasks])
    const { id } = await subscribe({ url: sink.url, after: since, filter: { taskIds: tasks } })

    const failing = await patiently(async () => {
      const now = await read(id)
      return now.failures > 1 ? now : undefined
    })
    const tried = sink.hits.length
    sink.refused.clear()
    await node.request('PATCH', `/v1/subscriptions/${id}`, { name: 'mended' })
    await patiently(async () => isTold(sink, runs) && (await read(id)).held.length === 0)

    expect(failing).toMatchObject({ state: 'failing', retryAt: expect.any(String), delivered: 0 })
    expect(failing.held.length).toBeLessThan(3)
    expect(tried).toBeLessThan(40)
    const order = [...sink.taken]
    for (const [i, run] of runs.slice(0, tasks.length).entries())
      expect(order.indexOf(run)).toBeLessThan(order.indexOf(runs[i + tasks.length] as string))
  },
)

test.concurrent(
  'one task is given up after as long as it may fail, goes on when resumed, and nothing of it is left out',
  LONG,
  async () => {
    const sink = await startPickySink()
    const [bad, good] = [await create(), await create()]
    sink.refused.add(bad)
    const { id } = await subscribe({ url: sink.url, giveUpAfter: '1h', filter: { taskIds: [bad, good] } })
    const first = await runInTurn([bad, good])
    await patiently(async () => isTold(sink, first.slice(1)) && (await read(id)).held[0]?.failures > 0)

    await age(id)
    const [next] = await runInTurn([good])
    const givenUp = await patiently(async () => {
      const now = await read(id)
      return now.held[0]?.retryAt === null && isTold(sink, [next as string]) ? now : undefined
    })
    const passedBy = await runInTurn([bad])
    sink.refused.clear()
    const resumed = await node.request('POST', `/v1/subscriptions/${id}/resume`)
    await patiently(async () => isTold(sink, [...first, ...passedBy]) && (await read(id)).held.length === 0)

    expect(givenUp).toMatchObject({ state: 'failing', retryAt: null, disabledAt: null })
    expect(resumed.body).toMatchObject({ state: 'active' })
  },
)

test.concurrent(
  'a subscription of which nothing was taken for as long as that may go on is disabled',
  LONG,
  async () => {
    const sink = await startSharedSink(() => ({ status: 500 }))
    const taskId = await create()
    const { id } = await subscribe({ url: sink.url, giveUpAfter: '1h', filter: { taskIds: [taskId] } })
    await trigger(taskId)
    await patiently(async () => (await read(id)).state === 'failing')

    await age(id)
    const disabled = await patiently(async () => {
      const now = await read(id)
      return now.state === 'disabled' ? now : undefined
    })

    expect(disabled).toMatchObject({ lastError: { code: 'http_status' }, retryAt: null })
  },
)

test.concurrent('an address that is always refused is never sent to', async () => {
  const taskId = await create()
  const { id } = await subscribe({ url: 'http://127.0.0.1:9', filter: { taskIds: [taskId] } })
  // As one that was stored before such addresses were refused.
  await db.run(
    sql`update subscription set url = 'http://169.254.169.254/latest', fence = fence + 1 where id = ${id}`,
  )
  await trigger(taskId)

  const disabled = await eventually(async () => {
    const now = await read(id)
    return now.state === 'disabled' ? now : undefined
  })

  expect(disabled.lastError).toMatchObject({ code: 'forbidden_address' })
})

test.concurrent('a change is picked up by whoever delivers, and a deleted subscription is told nothing more', async () => {
  const [before, after] = [await startSharedSink(), await startSharedSink()]
  const taskId = await create()
  const { id } = await subscribe({ url: before.url, filter: { taskIds: [taskId] } })
  await trigger(taskId)
  await eventually(async () => before.hits.length === 1)

  const { body } = await node.request('PATCH', `/v1/subscriptions/${id}`, { url: after.url, name: 'moved' })
  await eventually(
    async () => {
      await trigger(taskId)
      return after.hits.length > 0
    },
    { everyMs: 500 },
  )
  const removed = await node.request('DELETE', `/v1/subscriptions/${id}`)

  expect(body).toMatchObject({ id, name: 'moved', url: after.url })
  expect(removed.status).toBe(204)
  expect((await node.request('GET', `/v1/subscriptions/${id}`)).status).toBe(404)
})

test.each([
  [{}, '/url'],
  [{ url: 'ftp://x' }, '/url'],
  [{ url: 'http://user:pass@x' }, '/url'],
  [{ url: 'http://0xa9fea9fe/latest' }, '/url'],
  [{ url: 'http://x', batchSize: 0 }, '/batchSize'],
  [{ url: 'http://x', batchSize: 101 }, '/batchSize'],
  [{ url: 'http://x', giveUpAfter: '1s' }, '/giveUpAfter'],
  [{ url: 'http://x', secret: 'hunter2' }, '/secret'],
  [{ url: 'http://x', secret: 'whsec_c2hvcnQ=' }, '/secret'],
  [{ url: 'http://x', after: 'yesterday' }, '/after'],
  [{ url: 'http://x', filter: { states: [] } }, '/filter/states'],
  [{ url: 'http://x', filter: { states: ['running'] } }, '/filter/states/0'],
  [{ url: 'http://x', filter: { colour: 'red' } }, '/filter/colour'],
  [{ url: 'http://x', events: [] }, '/events'],
])('refuses %j and stores nothing', async (fields, pointer) => {
  const count = async () => (await db.run(sql<{ n: number }>`select count(*) as n from subscription`))[0]?.n
  const before = await count()

  const { status, body } = await node.request('POST', '/v1/subscriptions', fields)

  expect(status).toBe(422)
  expect(body.errors[0].pointer).toBe(pointer)
  expect(await count()).toBe(before)
})

test('a subscription is tried out with one signed event that leaves everything as it is', async () => {
  const receiver = await startPeer<Received>('../calls/receiver-process.mjs')
  const url = `http://127.0.0.1:${receiver.port}`
  const [single, batches] = [
    await subscribe({ url: `${url}/single`, filter: { owners: ['nobody'] } }),
    await subscribe({ url: `${url}/batches`, batchSize: 5, filter: { owners: ['nobody'] } }),
  ]
  const refused = await subscribe({ url: 'http://127.0.0.1:1/', filter: { owners: ['nobody'] } })
  await receiver.say({ secrets: [single.secret, batches.secret] })
  const tried = async (id: string) => (await node.request('POST', `/v1/subscriptions/${id}/test`)).body

  const [one, many] = [await tried(single.id), await tried(batches.id)]

  expect(one).toEqual({
    eventId: expect.stringMatching(/^[0-9a-f-]{36}\.test$/),
    delivered: true,
    status: 200,
    body: expect.any(String),
    durationMs: expect.any(Number),
    error: null,
  })
  const hits = [one, many].map(({ eventId }) =>
    receiver.told.find(({ headers }) => headers['webhook-id'] === eventId),
  )
  expect(hits.map((hit) => hit?.verified)).toEqual([
    [true, false],
    [false, true],
  ])
  const event = { id: one.eventId, type: 'belfry.test', data: { run: { state: 'completed' }, task: {} } }
  expect(JSON.parse(hits[0]?.body ?? '')).toMatchObject(event)
  expect(JSON.parse(hits[1]?.body ?? '')).toMatchObject([{ type: 'belfry.test' }])
  expect(await tried(refused.id)).toMatchObject({
    delivered: false,
    status: null,
    body: null,
    error: { code: 'connect_refused', message: expect.stringContaining('127.0.0.1:1') },
  })
  expect(await read(single.id)).toMatchObject({ delivered: 0, lastEvent: null, state: 'active' })
  expect(await read(refused.id)).toMatchObject({ failures: 0, lastError: null, state: 'active' })
  expect((await node.request('POST', `/v1/subscriptions/${crypto.randomUUID()}/test`)).status).toBe(404)
})

test('a test reaches no address that events would not reach', async () => {
  const sink = await startSink()
  const [row] = await db.run(
    findSubscriptions({
      projectId: DEFAULT_PROJECT_ID,
      id: (await subscribe({ url: sink.url, filter: { owners: ['nobody'] } })).id,
      limit: 1,
    }),
  )
  const tester = new Tester({
    clock: { now: () => Date.now() },
    userAgent: 'belfry',
    allowPrivateAddresses: false,
    timeoutMs: 10_000,
  })

  const tested = await tester.send(row as SubscriptionRow)

  expect(tested).toMatchObject({ isTaken: false, answer: null, error: { code: 'forbidden_address' } })
  expect(sink.hits).toEqual([])
  await tester.stop()
})
