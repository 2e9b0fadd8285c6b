/**
 * Tasks that run an uploaded program, replayed from one end to the other: task/create, signurl/create, the upload, file/status, a
 * worker that claims, /health_check, /update_status, task/status. The worker is spoken by hand, and so is the host of the program.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { put } from '../files/support.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { type Answer, request } from '../support/request.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { leaseMs: 600_000 })

const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const PROGRAM = Buffer.from('#!/bin/sh\necho done\n')
const AHEAD = '2099-01-02T03:04:05.000Z'

interface Claimed {
  readonly runId: string
  readonly fence: number
  readonly attempt: number
  readonly tracingId: string | null
  readonly program: { readonly attemptToken: string }
}

/** A project of its own, so that numbers start with 1 and no other test's runs are claimed. */
async function aProject() {
  const name = `p-${randomUUID()}`
  await node.request('POST', '/v1/projects', { name })
  const headers = { 'belfry-project': name }
  const send = (path: string, body: unknown, more: Record<string, string> = {}) =>
    node.request('POST', path, body, { ...headers, ...more })
  const create = async (fields: object = {}) => (await send('/task/create', fields)).body
  const statusOf = async (id: number) => (await send('/task/status', { id })).body
  const upload = async (id: number) => put(node, (await send('/signurl/create', { id })).body.url, PROGRAM)
  return { name, headers, send, create, statusOf, upload }
}

/** A worker of that project, and how the hosts of its programs speak. */
async function aSpinner(headers: Record<string, string>) {
  const offer = { actions: ['exec'], version: '0.2.0', name: 'spinner/1' }
  const { body } = await node.request('POST', '/v1/worker/register', offer, headers)
  const say = (what: string, said: unknown): Promise<Answer> =>
    request(node.url, 'POST', `/v1/worker/${what}`, said, { authorization: `Bearer ${body.token}` })
  const claim = async (): Promise<Claimed> => {
    const { body: given } = await say('claim', { requestId: randomUUID(), limit: 1, waitMs: 30_000 })
    return given.runs[0]
  }
  const host = ({ program }: Claimed, path: string, said?: unknown) =>
    request(node.url, 'POST', path, said, { authorization: `Bearer ${program.attemptToken}` })
  return { claim, host, say }
}

test('task/create answers with every attribute', async () => {
  const { send } = await aProject()

  const plain = await send('/task/create', {})
  const whole = await send('/task/create', { schedule_at: AHEAD, total_retry: 2, tracing_id: 'order-42' })

  expect(plain).toMatchObject({ status: 200 })
  expect(plain.body).toEqual({
    id: 1,
    schedule_at: null,
    picked_at_by_producers: [],
    picked_at_by_workers: [],
    successful_at: null,
    failed_ats: [],
    failed_reasons: [],
    total_retry: 3,
    current_retry: 0,
    tracing_id: null,
    file_uploaded: false,
    is_producible: true,
  })
  expect(whole.body).toMatchObject({ id: 2, schedule_at: AHEAD, total_retry: 2, tracing_id: 'order-42' })
  for (const { body } of [plain, whole])
    expect((await send('/task/status', { id: body.id })).body).toEqual(body)
})

test('a task without a time runs once its file is uploaded, and shows its success', async () => {
  const { headers, send, create, statusOf } = await aProject()
  const { id } = await create({ tracing_id: 'order-42' })
  const spinner = await aSpinner(headers)

  const before = await send('/file/status', { id })
  const signed = await send('/signurl/create', { id })
  const uploaded = await put(node, signed.body.url, PROGRAM)
  const after = await send('/file/status', { id })
  const run = await spinner.claim()
  const running = await statusOf(id)
  const beat = await spinner.host(run, '/health_check')
  const done = await spinner.host(run, '/update_status', { status: 'success' })

  expect(before.body).toEqual({ id, file_uploaded: false })
  expect(signed.body).toEqual({ id, url: expect.stringContaining(node.url), expires_at: INSTANT })
  expect(uploaded).toMatchObject({ status: 200, body: { kind: 'script', state: 'ready' } })
  expect(after.body).toEqual({ id, file_uploaded: true })
  expect(run).toMatchObject({ attempt: 1, tracingId: 'order-42' })
  expect(running).toMatchObject({
    schedule_at: null,
    picked_at_by_producers: [INSTANT],
    picked_at_by_workers: [INSTANT],
    successful_at: null,
    file_uploaded: true,
    is_producible: false,
  })
  expect([beat.status, done.status]).toEqual([200, 200])
  expect(await statusOf(id)).toMatchObject({
    successful_at: INSTANT,
    failed_ats: [],
    current_retry: 0,
    is_producible: false,
    tracing_id: 'order-42',
  })
  expect(await send('/signurl/create', { id })).toMatchObject({ status: 409, body: { code: 'file_ready' } })
})

test('failures are listed with reasons, retried within 30 s, and final after the last retry', async () => {
  const { headers, create, statusOf, upload } = await aProject()
  const { id } = await create({ total_retry: 1 })
  const spinner = await aSpinner(headers)
  await upload(id)

  const first = await spinner.claim()
  const retried = await spinner.host(first, '/update_status', { status: 'failure', reason: 'exit code 3' })
  const between = await statusOf(id)
  const second = await spinner.claim()
  const given = await spinner.host(second, '/update_status', { status: 'failure', reason: 'exit code 4' })
  const late = await spinner.host(first, '/update_status', { status: 'success' })

  expect(retried.body.is_producible).toBe(true)
  expect(between).toMatchObject({ current_retry: 1, failed_reasons: ['exit code 3'] })
  expect(second).toMatchObject({ runId: first.runId, attempt: 2 })
  expect(given.body.is_producible).toBe(false)
  expect(late.status).toBe(409)
  const final = await statusOf(id)
  expect(final).toMatchObject({
    picked_at_by_workers: [INSTANT, INSTANT],
    successful_at: null,
    failed_ats: [INSTANT, INSTANT],
    failed_reasons: ['exit code 3', 'exit code 4'],
    total_retry: 1,
    current_retry: 1,
    is_producible: false,
  })
  expect(Date.parse(final.picked_at_by_workers[1]) - Date.parse(final.failed_ats[0])).toBeLessThan(30_000)
})

test('the loss of a worker is a failure with a reason, and counts as a retry', async () => {
  const { headers, create, statusOf, upload } = await aProject()
  const { id } = await create({ total_retry: 1 })
  const spinner = await aSpinner(headers)
  await upload(id)
  const run = await spinner.claim()
  await spinner.say('complete', { runs: [{ runId: run.runId, fence: run.fence, outcome: 'lost' }] })

  const lost = await statusOf(id)
  const again = await spinner.claim()

  expect(lost).toMatchObject({ current_retry: 1, failed_reasons: [expect.stringContaining('worker')] })
  expect(again).toMatchObject({ runId: run.runId, attempt: 2 })
  expect(await spinner.host(run, '/update_status', { status: 'success' })).toMatchObject({ status: 410 })
})

test('a task does not run before its time, even if its file is uploaded early', async () => {
  const { create, statusOf, upload } = await aProject()
  const { id } = await create({ schedule_at: AHEAD })

  await upload(id)

  expect(await statusOf(id)).toMatchObject({
    schedule_at: AHEAD,
    file_uploaded: true,
    picked_at_by_producers: [],
    is_producible: true,
  })
})

test('a task that waits for a worker shows picked_at_by_producers only', async () => {
  const { create, statusOf, upload } = await aProject()
  const { id } = await create()
  await upload(id)

  await eventually(async () => (await statusOf(id)).picked_at_by_producers.length === 1)

  expect(await statusOf(id)).toMatchObject({ picked_at_by_workers: [], is_producible: false })
})

test('is_producible true runs a task again, and false stops it', async () => {
  const { headers, send, create, statusOf, upload } = await aProject()
  const { id } = await create()
  const later = await create({ schedule_at: AHEAD })
  const waiting = await create()
  const spinner = await aSpinner(headers)
  await upload(id)
  await spinner.host(await spinner.claim(), '/update_status', { status: 'success' })
  const set = async (of: number, is_producible: boolean) =>
    (await send('/task/update', { id: of, is_producible })).body.is_producible

  const again = await send('/task/update', { id, is_producible: true })
  const second = await spinner.claim()
  await spinner.host(second, '/update_status', { status: 'failure', reason: 'second time' })

  expect(again.status).toBe(200)
  expect(second.attempt).toBe(1)
  expect(await statusOf(id)).toMatchObject({
    picked_at_by_workers: [INSTANT, INSTANT],
    successful_at: INSTANT,
    failed_reasons: ['second time'],
    current_retry: 1,
  })
  expect([await set(later.id, false), await set(later.id, false), await set(later.id, true)]).toEqual([
    false,
    false,
    true,
  ])
  expect([await set(waiting.id, false), await set(waiting.id, true)]).toEqual([false, true])
})

test('the same Idempotency-Key creates one task, with one number and one file', async () => {
  const { send, create } = await aProject()
  const key = { 'idempotency-key': 'create-once' }

  const first = await send('/task/create', { total_retry: 0 }, key)
  const again = await send('/task/create', { total_retry: 0 }, key)
  const next = await create()

  expect(again.body).toEqual(first.body)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect([first.body.id, next.id]).toEqual([1, 2])
})

test('concurrently created tasks get different numbers, also when a key is in use', async () => {
  const { headers, create } = await aProject()
  const action = { type: 'sleep', duration: '0s' }
  await node.request('POST', '/v1/tasks', { action, key: 'task-5', schedule: { type: 'manual' } }, headers)

  const tasks = await Promise.all(Array.from({ length: 20 }, () => create()))

  const numbers = tasks.map(({ id }) => id)
  expect(new Set(numbers).size).toBe(20)
  expect(numbers).not.toContain(5)
  expect(numbers.toSorted((a, b) => a - b)[0]).toBe(1)
})

test('tasks of another project do not exist', async () => {
  const own = await aProject()
  const other = await aProject()
  const { id } = await own.create()

  for (const path of ['/task/status', '/signurl/create', '/file/status'])
    expect(await other.send(path, { id })).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(await other.send('/task/update', { id, is_producible: true })).toMatchObject({ status: 404 })
})

test.each([
  ['/task/create', { total_retry: 4 }, '/total_retry'],
  ['/task/create', { total_retry: -1 }, '/total_retry'],
  ['/task/create', { schedule_at: 'tomorrow' }, '/schedule_at'],
  ['/task/create', { schedule_at: '2001-01-01T00:00:00Z' }, '/schedule_at'],
  ['/task/create', { tracing_id: 'x'.repeat(257) }, '/tracing_id'],
  ['/task/create', { picked_at_by_workers: [] }, '/picked_at_by_workers'],
  ['/task/status', {}, '/id'],
  ['/task/status', { id: 'task-1' }, '/id'],
  ['/task/update', { id: 1 }, '/is_producible'],
  ['/signurl/create', { id: 0 }, '/id'],
])('%s refuses %j, names the field and stores nothing', async (path, body, pointer) => {
  const { name, send } = await aProject()

  const { status, body: problem } = await send(path, body)

  const [stored] = await db.run(sql`
    select from project p where name = ${name} and not exists (select from task where project_id = p.id)
      and not exists (select from file where project_id = p.id) and not exists (select from task_number where project_id = p.id)`)
  expect({ status, pointer: problem.errors?.[0]?.pointer }).toEqual({ status: 422, pointer })
  expect(stored).toBeDefined()
})
