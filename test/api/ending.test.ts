/** Cancelling tasks and runs, and deleting tasks. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'
import { agendaOf, forceState, historyOf, moveWaiting } from './rows.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const still = await createTestDatabase()
const { send } = await createTestApp(still)
const node = await startTestNode(database)
const { request } = node

const action = { type: 'sleep', duration: '1h' }
const later = { type: 'once', at: '2099-01-01T00:00:00Z' }
const readTask = async (id: string) => (await request('GET', `/v1/tasks/${id}`)).body
const readRun = async (id: string) => (await request('GET', `/v1/runs/${id}`)).body

/** A task whose run is being performed. */
async function runningTask(fields: Record<string, unknown> = {}) {
  const { body: task } = await request('POST', '/v1/tasks', { action, ...fields })
  const run = await eventually(async () => {
    const { openRun } = await readTask(task.id)
    return openRun?.state === 'running' ? openRun : undefined
  })
  return { task, run }
}

test('a cancelled task is no longer due, and cancelling it again changes nothing', async () => {
  const { body: task } = await send('POST', '/v1/tasks', {
    action,
    schedule: { type: 'every', interval: '1h' },
  })

  const first = await send('POST', `/v1/tasks/${task.id}/cancel`)
  const second = await send('POST', `/v1/tasks/${task.id}/cancel`)

  expect(first.body).toMatchObject({ state: 'cancelled', nextFireAt: null, openRun: null })
  expect(second.body.cancelledAt).toBe(first.body.cancelledAt)
  expect(await agendaOf(still.db, task.id)).toEqual([])
  expect(await historyOf(still.db, task.id)).toEqual([])
})

test('an occurrence that is due but not fired when its task is cancelled is recorded as skipped', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule: later })
  const due = Date.now() - 500
  await moveWaiting(still.db, task.id, due)

  await send('POST', `/v1/tasks/${task.id}/cancel`)

  expect(await historyOf(still.db, task.id)).toMatchObject([
    { state: 'skipped', reason: 'cancelled', scheduledFor: due, count: 1 },
  ])
})

test.each(['pending', 'retrying'] as const)('a %s run ends with its task', async (state) => {
  const { body: task } = await send('POST', '/v1/tasks', {
    action,
    schedule: { type: 'delay', interval: '1s' },
  })
  await forceState(still.db, task.id, state)

  const { body } = await send('POST', `/v1/tasks/${task.id}/cancel`)

  expect(body).toMatchObject({ state: 'cancelled', openRun: null })
  expect(await agendaOf(still.db, task.id)).toEqual([])
  expect(await historyOf(still.db, task.id)).toMatchObject([{ state: 'cancelled' }])
})

test('a manual run that has not been fired ends with its task', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  const { body: run } = await send('POST', `/v1/tasks/${task.id}/trigger`)

  await send('POST', `/v1/tasks/${task.id}/cancel`)

  expect((await send('GET', `/v1/runs/${run.id}`)).body).toMatchObject({ state: 'cancelled', attempts: [] })
})

test('cancelling a task stops its running run within seconds and ends the chain', async () => {
  const { task, run } = await runningTask({ schedule: { type: 'delay', interval: '10ms' } })

  const startedAt = performance.now()
  const { body } = await request('POST', `/v1/tasks/${task.id}/cancel`)
  const ended = await eventually(async () => {
    const now = await readRun(run.id)
    return now.endedAt === null ? undefined : now
  })

  expect(performance.now() - startedAt).toBeLessThan(30_000)
  expect(body.state).toBe('cancelled')
  // The worker may have ended it before the task was read for the answer.
  expect([run.id, null]).toContain(body.openRun?.id ?? null)
  expect(ended).toMatchObject({ state: 'cancelled', attempts: [{ number: 1, outcome: 'cancelled' }] })
  expect(await agendaOf(db, task.id)).toEqual([])
})

test('a run that is cancelled between attempts ends cancelled, and its attempt stays failed', async () => {
  const sink = await startSink(() => ({ status: 503 }))
  const { body: task } = await request('POST', '/v1/tasks', {
    action: { type: 'ping', url: sink.url },
    retry: { limit: 3, initial: '1h', max: '1h' },
  })
  const run = await eventually(async () => {
    const { openRun } = await readTask(task.id)
    return openRun?.state === 'retrying' ? openRun : undefined
  })

  const { status, body } = await request('POST', `/v1/runs/${run.id}/cancel`)

  expect(status).toBe(200)
  expect(body).toMatchObject({
    state: 'cancelled',
    attempts: [{ number: 1, outcome: 'failed', status: 'failed' }],
  })
})

test('the attempt of a cancelled run keeps its outcome, completed or cancelled', async () => {
  const { task, run } = await runningTask({ action: { type: 'sleep', duration: '2s' } })
  await db.run({ text: 'update agenda set cancel_at = now() where run_id = $1', values: [run.id] })

  const ended = await eventually(async () => {
    const now = await readRun(run.id)
    return now.endedAt === null ? undefined : now
  })

  expect(ended).toMatchObject({
    state: 'cancelled',
    attempts: [{ outcome: expect.stringMatching(/completed|cancelled/) }],
  })
  expect((await readTask(task.id)).state).toBe('finished')
})

test('cancelling one run lets the task go on', async () => {
  const { task, run } = await runningTask({ schedule: { type: 'delay', interval: '50ms' } })

  const { body } = await request('POST', `/v1/runs/${run.id}/cancel`)
  await eventually(async () => (await readRun(run.id)).state === 'cancelled')
  const next = await eventually(async () => {
    const { openRun } = await readTask(task.id)
    return openRun && openRun.id !== run.id ? openRun : undefined
  })

  // The worker may have stopped it before the answer was read.
  expect(body.state === 'cancelled' || body.cancelRequestedAt !== null).toBe(true)
  expect(next.attempt).toBeLessThanOrEqual(1)
  await request('POST', `/v1/tasks/${task.id}/cancel`)
})

test('cancelling a waiting run of a chain writes the next one', async () => {
  const { body: task } = await send('POST', '/v1/tasks', {
    action,
    schedule: { type: 'delay', interval: '1h' },
  })
  await forceState(still.db, task.id, 'retrying')
  const [row] = await agendaOf(still.db, task.id)

  const { body } = await send('POST', `/v1/runs/${row?.runId}/cancel`)

  expect(body.state).toBe('cancelled')
  expect(await agendaOf(still.db, task.id)).toMatchObject([
    { state: 'scheduled', ordinal: 2, delayMs: 3_600_000 },
  ])
})

test('a run that has ended cannot be cancelled', async () => {
  const { body: task } = await request('POST', '/v1/tasks', { action: { type: 'sleep', duration: '0s' } })
  const run = await eventually(async () => {
    const { items } = (await request('GET', `/v1/tasks/${task.id}/runs`)).body
    return items.find(({ endedAt }: { endedAt: string | null }) => endedAt !== null)
  })

  const { status, body } = await request('POST', `/v1/runs/${run.id}/cancel`)

  expect(status).toBe(409)
  expect(body).toMatchObject({
    code: 'run_ended',
    detail: expect.stringContaining('with the state completed'),
  })
})

test('a deleted task is no longer found, its key is free, and its history stays', async () => {
  const { task, run } = await runningTask({ key: 'again', schedule: { type: 'delay', interval: '10ms' } })

  const deleted = await request('DELETE', `/v1/tasks/${task.id}`)
  await eventually(async () => (await historyOf(db, task.id)).length > 0)

  expect(deleted.status).toBe(204)
  expect(deleted.body).toBeNull()
  for (const [method, path] of [
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/runs'],
    ['GET', '/attempts'],
    ['POST', '/pause'],
    ['POST', '/trigger'],
  ] as const)
    expect((await request(method, `/v1/tasks/${task.id}${path}`)).status).toBe(404)
  expect((await request('GET', '/v1/tasks/by-key/again')).status).toBe(404)
  expect((await request('GET', '/v1/tasks?q=again')).body.items).toEqual([])
  expect((await request('POST', '/v1/tasks', { action, key: 'again', schedule: later })).status).toBe(201)
  expect(await historyOf(db, task.id)).toMatchObject([{ state: 'cancelled' }])
  expect(await readRun(run.id)).toMatchObject({ state: 'cancelled', taskId: task.id })
})

test('a cancelled task keeps its key until it is deleted', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { action, key: 'kept', schedule: later })
  await send('POST', `/v1/tasks/${task.id}/cancel`)

  const taken = await send('POST', '/v1/tasks', { action, key: 'kept', schedule: later })
  await send('DELETE', `/v1/tasks/${task.id}`)
  const free = await send('POST', '/v1/tasks', { action, key: 'kept', schedule: later })

  expect(taken.status).toBe(409)
  expect(free.status).toBe(201)
})

test('a run that is claimed while its task is cancelled does not complete', async () => {
  for (let i = 0; i < 20; i++) {
    const { body: task } = await request('POST', '/v1/tasks', { action })
    await new Promise((resolve) => setTimeout(resolve, i % 7))
    await request('POST', `/v1/tasks/${task.id}/cancel`)

    await eventually(async () => (await agendaOf(db, task.id)).length === 0)
    expect((await historyOf(db, task.id)).map(({ state }) => state)).not.toContain('completed')
  }
})
