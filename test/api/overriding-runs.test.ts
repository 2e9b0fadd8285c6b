/** Triggering with overrides: one run does something otherwise, remembers it, and the task stays as it is. */
import { expect, test } from 'vitest'
import { leastUuidAt, uuidv7 } from '../../src/core/ids.ts'
import { sql } from '../../src/store/database/sql.ts'
import { deleteOldOverrides } from '../../src/store/tasks/run-overrides.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
const { request } = await startTestNode(database)

const create = async (fields: Record<string, unknown>) =>
  (await request('POST', '/v1/tasks', { schedule: { type: 'manual' }, ...fields })).body
const trigger = (id: string, override?: unknown, headers?: Record<string, string>) =>
  request('POST', `/v1/tasks/${id}/trigger`, override, headers)
const read = async (id: string) => (await request('GET', `/v1/runs/${id}`)).body
const ended = (id: string) =>
  eventually(async () => {
    const run = await read(id)
    return run.endedAt === null ? undefined : run
  })
const overridesOf = (runId: string) => db.run(sql`select run_id from run_override where run_id = ${runId}`)

test('an override changes and is shown for one run, and the next run follows the task', async () => {
  const sink = await startSink()
  const headers = { 'x-kept': 'a', 'x-changed': 'b' }
  const action = { type: 'http', url: sink.url, method: 'POST', headers, body: { n: 1 } }
  const task = await create({ action })
  const override = { action: { body: { n: 2 }, headers: { 'X-Changed': 'c' } }, timeout: '5s' }

  const changed = await ended((await trigger(task.id, override)).body.id)
  const plain = await ended((await trigger(task.id)).body.id)

  expect(sink.hits.map(({ body }) => body)).toEqual(['{"n":2}', '{"n":1}'])
  expect(sink.hits[0]?.headers).toMatchObject({ 'x-kept': 'a', 'x-changed': 'c' })
  expect(changed).toMatchObject({
    override,
    action: { ...action, headers: { 'x-kept': 'a', 'X-Changed': 'c' }, body: { n: 2 } },
  })
  expect(plain).toMatchObject({ override: null, action })
  expect((await request('GET', `/v1/tasks/${task.id}`)).body).toMatchObject({ action, version: 1 })
})

test('an override applies to every retry', async () => {
  const sink = await startSink((_, count) => ({ status: count < 3 ? 500 : 200 }))
  const task = await create({ action: { type: 'webhook', url: sink.url, body: 'task' }, retry: { limit: 0 } })
  const override = { action: { body: 'run' }, retry: { limit: 2, initial: '1ms', max: '1ms' } }

  const run = await ended((await trigger(task.id, override)).body.id)

  expect(run).toMatchObject({ state: 'completed', attempt: 3 })
  expect(sink.hits.map(({ body }) => body)).toEqual(['run', 'run', 'run'])
})

test('an override applies to a run that has waited in a paused queue', async () => {
  const sink = await startSink()
  const task = await create({ action: { type: 'webhook', url: sink.url, body: 'task' } })
  await request('POST', '/v1/queues/held/pause')
  const { body: run } = await trigger(task.id, { action: { body: 'run' }, queue: 'held', priority: 7 })
  await eventually(
    async () => (await db.run(sql`select 1 from ready where run_id = ${run.id} and priority = 7`)).length,
  )

  await request('POST', '/v1/queues/held/resume')

  expect(await ended(run.id)).toMatchObject({ state: 'completed' })
  expect(sink.hits.map(({ body }) => body)).toEqual(['run'])
})

test('an override, with its own timeout, works while the task is paused', async () => {
  const task = await create({
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'every', interval: '1h' },
  })
  await request('POST', `/v1/tasks/${task.id}/pause`)

  const override = { action: { duration: '1h' }, timeout: '10ms', retry: { limit: 0 } }
  const run = await ended((await trigger(task.id, override)).body.id)

  expect(run).toMatchObject({ state: 'permanently_failed', error: { code: 'timed_out' } })
})

test('with overlap allow in the override the run starts beside an active one', async () => {
  const task = await create({ action: { type: 'sleep', duration: '1h' } })
  const { body: first } = await trigger(task.id)
  await eventually(async () => (await read(first.id)).state === 'running')

  const refused = await trigger(task.id, { action: { duration: '0s' } })
  const beside = await trigger(task.id, { action: { duration: '0s' }, overlap: 'allow' })

  expect(refused.body).toMatchObject({ status: 409, code: 'run_active', runId: first.id })
  expect(await ended(beside.body.id)).toMatchObject({ state: 'completed' })
  await request('POST', `/v1/tasks/${task.id}/cancel`)
})

test('one Idempotency-Key creates one run, and is refused with another override', async () => {
  const task = await create({ action: { type: 'sleep', duration: '0s' }, overlap: 'allow' })
  const key = { 'idempotency-key': uuidv7() }
  const override = { action: { duration: '1ms' } }

  const first = await trigger(task.id, override, key)
  const again = await trigger(task.id, override, key)
  const other = await trigger(task.id, { action: { duration: '2ms' } }, key)

  expect(again.body).toEqual(first.body)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(other.body).toMatchObject({ status: 422, code: 'idempotency_key_reused' })
  expect(await ended(first.body.id)).toMatchObject({ override })
})

test('a rerun repeats the override, unless it no longer fits the task', async () => {
  const task = await create({ action: { type: 'sleep', duration: '1h' } })
  const override = { action: { duration: '0s' } }
  const run = await ended((await trigger(task.id, override)).body.id)

  const again = await request('POST', `/v1/runs/${run.id}/retry`)
  expect(await ended(again.body.id)).toMatchObject({ state: 'completed', override, retryOf: run.id })
  await request('PATCH', `/v1/tasks/${task.id}`, { action: { type: 'ping', url: 'http://127.0.0.1:1' } })
  const outdated = await request('POST', `/v1/runs/${run.id}/retry`)

  expect(outdated.body).toMatchObject({
    status: 409,
    code: 'override_outdated',
    errors: [{ pointer: '/action/duration' }],
  })
})

test('the input of a program cannot be overridden if the program has variables or secrets', async () => {
  const action = { type: 'exec', command: '/bin/sh', stdin: 'echo hello' }
  const override = { action: { stdin: 'printf %s "$PGPASSWORD"' } }
  const files = [{ path: 'pass', content: '{{secret.PASS}}' }]
  const answers = []
  for (const more of [{ env: { PGPASSWORD: 'x' } }, { files }, { stdin: '{{secret.PASS}}' }, {}]) {
    const task = await create({ action: { ...action, ...more } })
    answers.push((await trigger(task.id, override)).body)
  }

  const refused = { status: 422, errors: [{ pointer: '/action/stdin' }] }
  expect(answers).toMatchObject([refused, refused, refused, { state: 'pending' }])
  expect(answers[0].errors[0].detail).toContain('has environment variables or secrets')
})

test('an empty override is not stored', async () => {
  const task = await create({ action: { type: 'sleep', duration: '0s' }, overlap: 'allow' })

  for (const body of [{}, null, { retry: {}, action: {} }]) {
    const answer = await trigger(task.id, body)
    expect(answer.status).toBe(201)
    expect(await read(answer.body.id)).toMatchObject({ override: null })
  }
})

test('an override is deleted with the history of its run, but not while the run waits', async () => {
  const task = await create({ action: { type: 'sleep', duration: '0s' }, overlap: 'allow', queue: 'shut' })
  await request('POST', '/v1/queues/shut/pause')
  const waiting = (await trigger(task.id, { action: { duration: '1ms' } })).body.id
  const gone = await ended((await trigger(task.id, { action: { duration: '1ms' }, queue: 'open' })).body.id)

  await db.run(deleteOldOverrides(leastUuidAt(Date.now() - 60_000)))
  const kept = await overridesOf(gone.id)
  await db.run(deleteOldOverrides(leastUuidAt(Date.now() + 60_000)))

  expect(kept).toHaveLength(1)
  expect(await overridesOf(gone.id)).toHaveLength(0)
  expect(await overridesOf(waiting)).toHaveLength(1)
})
