/** Asking for a run once more: a new run that names the old one, and leaves it as it is. */
import { expect, test } from 'vitest'
import { leastUuidAt, uuidv7 } from '../../src/core/ids.ts'
import { sql } from '../../src/store/database/sql.ts'
import { deleteOldRetries } from '../../src/store/history/runs.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
const { request } = await startTestNode(database)

const create = async (fields: Record<string, unknown>) =>
  (await request('POST', '/v1/tasks', { schedule: { type: 'manual' }, ...fields })).body
const trigger = async (id: string) => (await request('POST', `/v1/tasks/${id}/trigger`)).body
const retry = (id: string, headers?: Record<string, string>) =>
  request('POST', `/v1/runs/${id}/retry`, undefined, headers)
const ended = (id: string) =>
  eventually(async () => {
    const { body } = await request('GET', `/v1/runs/${id}`)
    return body.endedAt === null ? undefined : body
  })
const DAY_MS = 86_400_000
const quick = { type: 'sleep', duration: '0s' }
const long = { type: 'sleep', duration: '1h' }

test('a rerun of a permanently failed run is a new run that names the old one', async () => {
  let status = 500
  const sink = await startSink(() => ({ status }))
  const task = await create({ name: 'mended', action: { type: 'ping', url: sink.url }, retry: { limit: 0 } })
  const failed = await ended((await trigger(task.id)).id)
  status = 200

  const { status: answered, headers, body } = await retry(failed.id)

  expect(failed.state).toBe('permanently_failed')
  expect(answered).toBe(201)
  expect(headers.get('location')).toBe(`/v1/runs/${body.id}`)
  expect(body).toMatchObject({
    taskId: task.id,
    taskName: 'mended',
    kind: 'manual',
    state: 'pending',
    retryOf: failed.id,
  })
  expect(await ended(body.id)).toMatchObject({ state: 'completed', retryOf: failed.id, retriedAs: [] })
  expect(await ended(failed.id)).toEqual({ ...failed, retriedAs: [body.id] })
  const { items } = (await request('GET', `/v1/tasks/${task.id}/runs`)).body
  expect(items.map(({ id, retryOf }: Record<string, string>) => [id, retryOf])).toEqual([
    [body.id, failed.id],
    [failed.id, null],
  ])
})

test('a rerun uses the current definition of the task', async () => {
  const sink = await startSink(() => ({ status: 200 }))
  const task = await create({ action: { type: 'ping', url: `${sink.url}/old` } })
  const first = await ended((await trigger(task.id)).id)
  await request('PATCH', `/v1/tasks/${task.id}`, { action: { type: 'ping', url: `${sink.url}/new` } })

  const again = await ended((await retry(first.id)).body.id)

  expect(sink.hits.map(({ path }) => path)).toEqual(['/old', '/new'])
  expect([first.version, again.version]).toEqual([1, 2])
})

test('completed, cancelled and skipped runs can be rerun, repeatedly', async () => {
  const task = await create({ action: quick, overlap: 'allow' })
  const completed = await ended((await trigger(task.id)).id)
  const slow = await create({ action: long, overlap: 'allow' })
  const running = await trigger(slow.id)
  await eventually(async () => (await request('GET', `/v1/runs/${running.id}`)).body.state === 'running')
  await request('POST', `/v1/runs/${running.id}/cancel`)
  const cancelled = await ended(running.id)
  await request('PATCH', `/v1/tasks/${slow.id}`, { action: quick })
  const skipped = uuidv7()
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state, reason)
    select ${skipped}, id, project_id, now(), now(), 1, 1, 'occurrence', 'skipped', 'misfire' from task where id = ${task.id}`)

  for (const id of [completed.id, cancelled.id, skipped]) {
    const first = await ended((await retry(id)).body.id)
    const second = await ended((await retry(id)).body.id)
    const ofSecond = await ended((await retry(second.id)).body.id)

    expect([first.state, second.state, ofSecond.state]).toEqual(['completed', 'completed', 'completed'])
    expect((await ended(id)).retriedAs).toEqual([first.id, second.id])
    expect(ofSecond.retryOf).toBe(second.id)
  }
  expect([completed.state, cancelled.state]).toEqual(['completed', 'cancelled'])
})

test('an active run cannot be rerun, and the answer says what to do', async () => {
  const task = await create({ action: long, overlap: 'allow' })
  const run = await trigger(task.id)

  const { status, body } = await retry(run.id)

  expect(status).toBe(409)
  expect(body).toMatchObject({ code: 'run_active', runId: run.id })
  expect(body.state).toMatch(/^(pending|running)$/)
  expect(body.detail).toContain(`POST /v1/runs/${run.id}/cancel`)
  await request('POST', `/v1/tasks/${task.id}/cancel`)
})

test('with overlap skip another active run prevents the rerun and is named', async () => {
  const task = await create({ action: quick, overlap: 'skip' })
  const first = await ended((await trigger(task.id)).id)
  await request('PATCH', `/v1/tasks/${task.id}`, { action: long })
  const second = await trigger(task.id)

  const { status, body } = await retry(first.id)

  expect(status).toBe(409)
  expect(body).toMatchObject({ code: 'run_active', runId: second.id })
  await request('POST', `/v1/tasks/${task.id}/cancel`)
  expect((await request('GET', `/v1/runs/${first.id}`)).body.retriedAs).toEqual([])
})

test('runs of a cancelled or deleted task cannot be rerun', async () => {
  for (const end of ['cancel', 'delete']) {
    const task = await create({ action: quick })
    const run = await ended((await trigger(task.id)).id)
    if (end === 'cancel') await request('POST', `/v1/tasks/${task.id}/cancel`)
    else await request('DELETE', `/v1/tasks/${task.id}`)

    const { status, body } = await retry(run.id)

    expect([end, status, body.code]).toEqual([end, 409, 'task_ended'])
  }
})

test('repeated requests with one Idempotency-Key create one rerun', async () => {
  const task = await create({ action: quick })
  const run = await ended((await trigger(task.id)).id)
  const headers = { 'idempotency-key': 'once-more' }

  const answers = await Promise.all(Array.from({ length: 5 }, () => retry(run.id, headers)))
  const later = await retry(run.id, headers)

  expect(new Set([...answers, later].map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
  expect(later.headers.get('idempotent-replayed')).toBe('true')
  expect((await request('GET', `/v1/runs/${run.id}`)).body.retriedAs).toEqual([later.body.id])
})

test('the link from a rerun to its original is deleted with old history', async () => {
  const task = await create({ action: quick })
  const run = await ended((await trigger(task.id)).id)
  const again = (await retry(run.id)).body.id
  await ended(again)
  const old = leastUuidAt(Date.now() - 40 * DAY_MS)
  await db.run(sql`insert into run_retry (run_id, retry_of) values (${old}, ${run.id})`)

  await db.run(deleteOldRetries(leastUuidAt(Date.now() - 37 * DAY_MS)))

  const kept = await db.run(
    sql<{ id: string }>`select run_id as id from run_retry where retry_of = ${run.id}`,
  )
  expect(kept).toEqual([{ id: again }])
})
