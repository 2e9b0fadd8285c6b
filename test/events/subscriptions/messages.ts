/** What is sent: events, alone or in batches, and one to try a subscription out; and what no subscription may ask for. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../../src/core/values/default-project.ts'
import { Tester } from '../../../src/events/subscriptions/tester.ts'
import { UNSIGNED } from '../../../src/outgoing/signer.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { findSubscriptions, type SubscriptionRow } from '../../../src/store/events/subscriptions.ts'
import { type Received, startPeer } from '../../calls/peer.ts'
import { eventually } from '../../support/eventually.ts'
import { startSink } from '../../support/sink.ts'
import { runIdsOf, type Telling } from './telling.ts'

export function messages({ db, node, create, trigger, subscribe, read }: Telling): void {
  test('an event is sent as a CloudEvent with its own id, and the reference library verifies it', async () => {
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

  test('a subscription with a batch size gets several events in one message', async () => {
    const sink = await startSink()
    const taskId = await create()
    // The further back delivery begins, the longer the parts in which it reads history. From here on, one part contains the next
    // hour, and so all of these runs.
    const since = new Date(Date.now() - 50 * 60_000).toISOString()
    const runs: string[] = []
    for (let i = 0; i < 25; i++) runs.push(await trigger(taskId))
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

  test('testing a subscription sends one signed event and changes nothing', async () => {
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

  test('a test of a subscription reaches no address that its events could not reach', async () => {
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
      keys: UNSIGNED,
      http: { allowPrivate: false },
      timeoutMs: 10_000,
    })

    const tested = await tester.send(row as SubscriptionRow)

    expect(tested).toMatchObject({ isTaken: false, answer: null, error: { code: 'forbidden_address' } })
    expect(sink.hits).toEqual([])
    await tester.stop()
  })
}
