import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'
import { answerChecker, type Document, operationsOf } from './document.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { send } = await createTestApp(database)
const document: Document = (await send('GET', '/openapi.json')).body
const operations = operationsOf(document)

const addressOf = (id: string) => operations.find(({ operationId }) => operationId === id)?.path ?? ''

test('the document is OpenAPI 3.1 and is served as JSON', async () => {
  const { headers } = await send('GET', '/openapi.json')

  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(document.openapi).toBe('3.1.0')
  expect(document.security).toEqual([])
})

test.each(operations)(
  '$method $path has an operationId, a summary, one tag and a 2xx response',
  ({ operationId, summary, tags, responses }) => {
    expect(operationId).toMatch(/^[a-z][A-Za-z]+$/)
    expect(summary).toMatch(/^[A-Z].*[^.]$/)
    expect(document.tags.map(({ name }) => name)).toEqual(expect.arrayContaining([...tags]))
    expect(tags).toHaveLength(1)
    expect(Object.keys(responses).some((status) => status.startsWith('2'))).toBe(true)
  },
)

test.each(operations)('$method $path refuses with problem documents', ({ responses }) => {
  for (const [status, { description, content }] of Object.entries(responses)) {
    expect(description).not.toBe('Default Response')
    if (status < '400' || content?.['application/json']) continue
    expect(content).toEqual({
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
    })
  }
})

test.each(operations)(
  '$method $path declares the parameters of its path, and takes JSON or a file',
  (operation) => {
    const named = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const declared = operation.parameters.filter((parameter) => parameter.in === 'path')

    expect(declared.map(({ name }) => name)).toEqual(named)
    expect(declared.every(({ required }) => required)).toBe(true)
    const type = operation.operationId === 'uploadFile' ? 'application/octet-stream' : 'application/json'
    if (operation.requestBody) expect(Object.keys(operation.requestBody.content)).toEqual([type])
  },
)

test('every operation has a unique id', () => {
  const names = operations.map(({ operationId }) => operationId)

  expect(new Set(names).size).toBe(names.length)
})

test('every reference resolves, and every component is referenced', () => {
  const references = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref),
  )

  const schemas = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
  expect([...references].sort()).toEqual(schemas.sort())
})

test('tasks and runs match the document in every state', async () => {
  const node = await startTestNode(database)
  const check = answerChecker(document)
  const sink = await startSink(() => ({ status: 503 }))
  const expectPromised = async (operationId: string, url: string) => {
    const operation = operations.find((candidate) => candidate.operationId === operationId)
    if (!operation) throw new Error(`there is no operation ${operationId}`)
    const answer = await send('GET', url)
    expect(check(operation, answer)).toEqual([])
    return answer.body
  }
  const create = async (body: unknown) => (await node.request('POST', '/v1/tasks', body)).body.id
  const sleep = { type: 'sleep', duration: '0s' }
  const ids: Record<string, string> = {
    scheduled: await create({
      action: sleep,
      schedule: { type: 'daily', hour: 1, minute: 2, timezone: 'Asia/Kolkata' },
    }),
    manual: await create({
      action: sleep,
      schedule: { type: 'manual' },
      metadata: { a: [1, null] },
      tags: ['x'],
    }),
    running: await create({ action: { type: 'sleep', duration: '1h' } }),
    retrying: await create({
      action: {
        type: 'http',
        url: sink.url,
        method: 'PUT',
        headers: { a: 'b' },
        body: null,
        expect: [201, '3xx'],
      },
      retry: { limit: 2, initial: '1h', max: '1h' },
    }),
    failed: await create({ action: { type: 'webhook', url: sink.url }, retry: { limit: 0 } }),
    finished: await create({ action: sleep }),
    paused: await create({ action: sleep, schedule: { type: 'every', interval: '20ms' } }),
    cancelled: await create({ action: sleep, schedule: { type: 'cron', expression: '0 9 * * *' } }),
  }
  await node.request('POST', `/v1/tasks/${ids['paused']}/pause`)
  await node.request('POST', `/v1/tasks/${ids['paused']}/resume`)
  await node.request('POST', `/v1/tasks/${ids['paused']}/pause`)
  await node.request('POST', `/v1/tasks/${ids['cancelled']}/cancel`)
  await node.request('POST', `/v1/tasks/${ids['manual']}/trigger`)

  const settled = async (
    name: string,
    isSo: (task: { state: string; openRun: { state: string } | null }) => boolean,
  ) => eventually(async () => isSo((await node.request('GET', `/v1/tasks/${ids[name]}`)).body))
  await settled('running', ({ openRun }) => openRun?.state === 'running')
  await settled('retrying', ({ openRun }) => openRun?.state === 'retrying')
  await settled('failed', ({ state }) => state === 'finished')
  await settled('finished', ({ state }) => state === 'finished')
  await settled('manual', ({ openRun }) => openRun === null)

  const states: Record<string, string> = { manual: 'scheduled', retrying: 'pending', failed: 'finished' }
  for (const [name, id] of Object.entries(ids)) {
    expect(await expectPromised('getTask', `/v1/tasks/${id}`)).toMatchObject({ state: states[name] ?? name })
    const { items } = await expectPromised('listRunsOfTask', `/v1/tasks/${id}/runs`)
    await expectPromised('listAttemptsOfTask', `/v1/tasks/${id}/attempts`)
    for (const run of items.slice(0, 5)) await expectPromised('getRun', `/v1/runs/${run.id}`)
  }
  await expectPromised('listRuns', '/v1/runs?limit=200')
  for (const operation of ['getStats', 'listNodes', 'listWorkers', 'listShards', 'getServer'])
    await expectPromised(operation, addressOf(operation))
  await expectPromised('listTasks', '/v1/tasks?limit=200&include=recent,next')
  await expectPromised('listCompatibleTasks', '/tasks')
  await node.request('POST', `/v1/tasks/${ids['running']}/cancel`)
})
