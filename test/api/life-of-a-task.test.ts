import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const node = await startTestNode(database)

const runsOf = async (taskId: string) => (await node.request('GET', `/v1/tasks/${taskId}/runs`)).body.items
const endedRun = (taskId: string) =>
  eventually(async () =>
    (await runsOf(taskId)).find((run: { endedAt: string | null }) => run.endedAt !== null),
  )

test('a task without a schedule runs once, at once', async () => {
  const { status, body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '0s' },
  })
  expect(status).toBe(201)

  const run = await endedRun(task.id)

  expect(run).toMatchObject({ state: 'completed', attempt: 1, retries: 0, kind: 'occurrence', fence: 1 })
  expect(run.latenessMs).toBeGreaterThanOrEqual(0)
  expect((await node.request('GET', `/v1/tasks/${task.id}`)).body.state).toBe('finished')
})

test('a webhook is posted with the headers that let a receiver recognise it', async () => {
  const sink = await startSink()
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'webhook', url: `${sink.url}/hook`, body: { hello: 'world' } },
  })

  const run = await endedRun(task.id)

  expect(sink.hits).toHaveLength(1)
  expect(sink.hits[0]).toMatchObject({ method: 'POST', path: '/hook', body: '{"hello":"world"}' })
  expect(sink.hits[0]?.headers).toMatchObject({
    'webhook-id': run.id,
    'belfry-task-id': task.id,
    'belfry-scheduled-for': run.scheduledFor,
    'belfry-attempt': '1',
    'belfry-fence': String(run.fence),
  })
  expect(run.output).toMatchObject({ status: 200 })
})

test('a failed run is retried with one message id and rising attempt numbers, and keeps every attempt', async () => {
  const sink = await startSink((_, count) => ({ status: count < 3 ? 503 : 200 }))
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'webhook', url: sink.url },
    retry: { limit: 3, initial: '10ms', max: '20ms' },
  })

  const run = await endedRun(task.id)

  expect(run).toMatchObject({ state: 'completed', attempt: 3, retries: 2 })
  expect(new Set(sink.hits.map((hit) => hit.headers['webhook-id'])).size).toBe(1)
  expect(sink.hits.map((hit) => hit.headers['belfry-attempt'])).toEqual(['1', '2', '3'])
  const { body } = await node.request('GET', `/v1/runs/${run.id}`)
  expect(body.attempts.map((a: { status: string }) => a.status)).toEqual(['failed', 'failed', 'completed'])
  expect(body.attempts[0].error).toMatchObject({ code: 'http_status' })
})

test('when the retries are used up, the run and its last attempt are permanently failed', async () => {
  const sink = await startSink(() => ({ status: 500 }))
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'ping', url: sink.url },
    retry: { limit: 1, initial: '10ms', max: '10ms' },
  })

  const run = await endedRun(task.id)

  expect(run).toMatchObject({ state: 'permanently_failed', attempt: 2 })
  const { body } = await node.request('GET', `/v1/tasks/${task.id}/attempts`)
  expect(body.items.map((a: { status: string }) => a.status)).toEqual(['permanently_failed', 'failed'])
})

test('a status that is not retried ends the run at once', async () => {
  const sink = await startSink(() => ({ status: 404 }))
  const { body: task } = await node.request('POST', '/v1/tasks', { action: { type: 'ping', url: sink.url } })

  expect(await endedRun(task.id)).toMatchObject({ state: 'permanently_failed', attempt: 1 })
})

test('an attempt ends at the timeout of its task', async () => {
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '1h' },
    timeout: '50ms',
    retry: { limit: 0 },
  })

  const run = await endedRun(task.id)

  expect(run).toMatchObject({ state: 'permanently_failed', error: { code: 'timed_out' } })
})

test('a fixed interval produces one run for each instant, never early', async () => {
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'every', interval: '100ms' },
    maxRuns: 5,
  })

  const runs = await eventually(async () => {
    const items = await runsOf(task.id)
    return items.length === 5 && items.every((run: { endedAt: string | null }) => run.endedAt !== null)
      ? items
      : undefined
  })

  const due = runs.map((run: { scheduledFor: string }) => Date.parse(run.scheduledFor)).reverse()
  expect(due.map((at: number) => at - due[0])).toEqual([0, 100, 200, 300, 400])
  expect(due[0]).toBe(Date.parse(task.createdAt) + 100)
  for (const run of runs)
    expect(Date.parse(run.startedAt)).toBeGreaterThanOrEqual(Date.parse(run.scheduledFor))
  expect((await node.request('GET', `/v1/tasks/${task.id}`)).body.state).toBe('finished')
})

test('a delay counts from the end of the previous run', async () => {
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '50ms' },
    schedule: { type: 'delay', interval: '100ms' },
    maxRuns: 3,
  })

  const runs = await eventually(async () => {
    const items = await runsOf(task.id)
    return items.length === 3 && items.every((run: { endedAt: string | null }) => run.endedAt !== null)
      ? items.reverse()
      : undefined
  })

  for (let i = 1; i < 3; i++) {
    expect(Date.parse(runs[i].scheduledFor) - Date.parse(runs[i - 1].endedAt)).toBeGreaterThanOrEqual(99)
    expect(Date.parse(runs[i].scheduledFor) - Date.parse(runs[i - 1].endedAt)).toBeLessThanOrEqual(101)
  }
})

test('an occurrence that finds a run of its task active is recorded as skipped', async () => {
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '250ms' },
    schedule: { type: 'every', interval: '100ms' },
    maxRuns: 2,
  })

  const runs = await eventually(async () => {
    const items = await runsOf(task.id)
    return items.filter((run: { state: string }) => run.state === 'completed').length === 2
      ? items
      : undefined
  })

  const skipped = runs.filter((run: { state: string }) => run.state === 'skipped')
  expect(skipped.length).toBeGreaterThanOrEqual(1)
  for (const run of skipped) expect(run.reason).toBe('overlap')
})

test('with overlap allow runs of one task run in parallel', async () => {
  const { body: task } = await node.request('POST', '/v1/tasks', {
    // Long enough for a list to contain two of them, also on a busy machine.
    action: { type: 'sleep', duration: '4s' },
    schedule: { type: 'every', interval: '100ms' },
    overlap: 'allow',
    maxRuns: 3,
  })

  await eventually(
    async () =>
      (await runsOf(task.id)).filter((run: { state: string }) => run.state === 'running').length >= 2,
  )
})
