/** Runs for occurrences of the past: which ones, in which order, how fast, and what stands in the way. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'
import { agendaOf, historyOf, moveWaiting } from './rows.ts'

const database = await createTestDatabase()
const { db } = database
const { request } = await startTestNode(database)

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const quick = { type: 'sleep', duration: '0s' }
const long = { type: 'sleep', duration: '1h' }
/** Minutes of an hour that is over. */
const TO = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS
const iso = (ms: number) => new Date(ms).toISOString()
const range = (minutes: number) => ({ from: iso(TO - minutes * MINUTE_MS), to: iso(TO) })
const minutesBefore = (count: number) =>
  Array.from({ length: count }, (_, i) => iso(TO - (count - i) * MINUTE_MS))

const cron = { type: 'cron', expression: '* * * * *', timezone: 'UTC' }
const create = async (fields: Record<string, unknown> = {}) =>
  (await request('POST', '/v1/tasks', { action: quick, schedule: cron, ...fields })).body
/** Its own occurrences are out of the way, so that only backfills run. */
const createPaused = async (fields: Record<string, unknown> = {}) => {
  const task = await create({ overlap: 'allow', ...fields })
  await request('POST', `/v1/tasks/${task.id}/pause`)
  return task
}
const backfill = (id: string, body: unknown, headers?: Record<string, string>) =>
  request('POST', `/v1/tasks/${id}/backfill`, body, headers)
const read = async (id: string) => (await request('GET', `/v1/backfills/${id}`)).body
const ended = (id: string) =>
  eventually(
    async () => {
      const body = await read(id)
      return body.endedAt === null ? undefined : body
    },
    { withinMs: 60_000 },
  )
const runsOf = async (taskId: string) =>
  (await request('GET', `/v1/tasks/${taskId}/runs?limit=200`)).body.items.filter(
    ({ kind }: { kind: string }) => kind === 'backfill',
  )

test('each occurrence of the range runs once, as a backfill run for its own instant', async () => {
  const sink = await startSink()
  const task = await createPaused({ action: { type: 'webhook', url: sink.url } })

  const { status, headers, body } = await backfill(task.id, { ...range(10), reason: 'the sink was away' })
  const done = await ended(body.id)

  expect([status, headers.get('location')]).toEqual([201, `/v1/backfills/${body.id}`])
  expect(body).toMatchObject({
    ...{ taskId: task.id, state: 'running', version: 1, order: 'oldest_first', overlap: 'allow', rate: null },
    ...{ occurrences: 10, remaining: 10, started: 0, reason: 'the sink was away', madeBy: '127.0.0.1' },
  })
  expect(done).toMatchObject({
    ...{ state: 'completed', remaining: 0, started: 10, passedOver: 0, position: iso(TO - MINUTE_MS) },
    ...{ waiting: 0, running: 0, completed: 10, failed: 0, cancelled: 0 },
  })
  expect(sink.hits.map(({ headers }) => headers['belfry-scheduled-for']).sort()).toEqual(minutesBefore(10))
  const runs = await runsOf(task.id)
  expect(runs).toHaveLength(10)
  const run = (await request('GET', `/v1/runs/${runs[0].id}`)).body
  expect(run).toMatchObject({ kind: 'backfill', state: 'completed', latenessMs: null, backfillId: body.id })
  expect((await request('GET', `/v1/tasks/${task.id}`)).body).toMatchObject({ state: 'paused', version: 1 })
  expect((await request('GET', `/v1/tasks/${task.id}/backfills`)).body.items).toEqual([done])
})

test('a dry run reports the number of runs and the first ten, and stores nothing', async () => {
  const task = await createPaused()
  const before = await agendaOf(db, task.id)

  const oldest = await backfill(task.id, { ...range(30), dryRun: true })
  const newest = await backfill(task.id, { ...range(30), dryRun: true, order: 'newest_first', maxRuns: 3 })

  expect(oldest.status).toBe(200)
  expect(oldest.body).toEqual({
    occurrences: 30,
    runs: 30,
    passedOver: 0,
    first: minutesBefore(30).slice(0, 10),
  })
  expect(newest.body).toEqual({
    ...{ occurrences: 30, runs: 3, passedOver: 0 },
    first: minutesBefore(3).reverse(),
  })
  expect(await agendaOf(db, task.id)).toEqual(before)
  expect((await request('GET', `/v1/tasks/${task.id}/backfills`)).body.items).toEqual([])
})

test('a backfill skips completed occurrences and repeats failed ones; force repeats all of them', async () => {
  let isBroken = true
  const sink = await startSink(({ headers }) => ({
    status: isBroken && String(headers['belfry-scheduled-for']) >= iso(TO - 3 * MINUTE_MS) ? 500 : 200,
  }))
  const task = await createPaused({ action: { type: 'webhook', url: sink.url }, retry: { limit: 0 } })
  const first = await ended((await backfill(task.id, range(5))).body.id)
  isBroken = false

  const dry = await backfill(task.id, { ...range(6), dryRun: true })
  const second = await ended((await backfill(task.id, range(6))).body.id)
  const third = await ended((await backfill(task.id, range(6))).body.id)
  const forced = await ended((await backfill(task.id, { ...range(6), force: true })).body.id)

  expect(first).toMatchObject({ started: 5, completed: 2, failed: 3 })
  expect(dry.body).toMatchObject({
    occurrences: 6,
    runs: 4,
    passedOver: 2,
    first: [iso(TO - 6 * MINUTE_MS), iso(TO - 3 * MINUTE_MS), iso(TO - 2 * MINUTE_MS), iso(TO - MINUTE_MS)],
  })
  expect(second).toMatchObject({ started: 4, passedOver: 2, completed: 4 })
  expect(third).toMatchObject({ started: 0, passedOver: 6, completed: 0, state: 'completed' })
  expect(forced).toMatchObject({ started: 6, passedOver: 0, completed: 6 })
})

test('occurrences that the schedule has not fired yet are left to the schedule', async () => {
  const task = await createPaused()
  // A row that is long due and was not fired yet.
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal)
    select ${uuidv7()}, id, project_id, 0, now() + interval '1 hour', to_timestamp(${TO - 2 * MINUTE_MS}::float8 / 1000), 1, 1
    from task where id = ${task.id}`)

  const { body } = await backfill(task.id, { ...range(5), dryRun: true })

  expect(body).toMatchObject({ occurrences: 5, runs: 3, passedOver: 2 })
})

test('runs start in the requested order, oldest or newest first, up to maxRuns', async () => {
  const task = await createPaused()
  const startedIn = async (order: string, maxRuns: number) => {
    await db.run(sql`delete from run where task_id = ${task.id}`)
    const asked = { ...range(20), order, overlap: 'queue_all', maxRuns }
    const { body } = await backfill(task.id, asked)
    expect(await ended(body.id)).toMatchObject({ started: maxRuns, completed: maxRuns })
    const runs: { startedAt: string; endedAt: string; scheduledFor: string }[] = await runsOf(task.id)
    return runs.sort((a, b) => a.startedAt.localeCompare(b.startedAt))
  }

  const oldest = await startedIn('oldest_first', 4)
  const newest = await startedIn('newest_first', 4)

  expect(oldest.map(({ scheduledFor }) => scheduledFor)).toEqual(minutesBefore(20).slice(0, 4))
  expect(newest.map(({ scheduledFor }) => scheduledFor)).toEqual(minutesBefore(4).reverse())
})

test('with queue_all each run starts after the one before has ended', async () => {
  const task = await createPaused({ action: { type: 'sleep', duration: '30ms' }, overlap: 'skip' })

  const { body } = await backfill(task.id, range(5))
  await ended(body.id)

  expect(body.overlap).toBe('queue_all')
  const runs: { startedAt: string; endedAt: string }[] = await runsOf(task.id)
  const inOrder = runs.sort((a, b) => a.startedAt.localeCompare(b.startedAt))
  expect(inOrder).toHaveLength(5)
  for (const [i, run] of inOrder.slice(1).entries())
    expect(Date.parse(run.startedAt)).toBeGreaterThanOrEqual(Date.parse(inOrder[i]?.endedAt ?? ''))
})

test('runs start no faster than the rate', async () => {
  const task = await createPaused()

  const { body } = await backfill(task.id, { ...range(12), rate: '20/s' })
  await ended(body.id)

  const runs: { startedAt: string }[] = await runsOf(task.id)
  const starts = runs.map(({ startedAt }) => Date.parse(startedAt)).sort((a, b) => a - b)
  expect(starts).toHaveLength(12)
  for (const [i, at] of starts.entries())
    expect(at - Date.parse(body.createdAt)).toBeGreaterThanOrEqual(i * 50 - 1)
})

test('a backfill delays neither occurrences that are due nor triggers', async () => {
  const task = await create({ action: long, schedule: { type: 'every', interval: '1h' } })
  await backfill(task.id, { from: iso(Date.now() - 10 * HOUR_MS), to: iso(Date.now() - HOUR_MS), maxRuns: 1 })
  await eventually(async () =>
    (await agendaOf(db, task.id)).some(({ kind, state }) => kind === 'backfill' && state === 'running'),
  )

  await moveWaiting(db, task.id, Date.now())

  await eventually(async () =>
    (await agendaOf(db, task.id)).some(({ kind, state }) => kind === 'occurrence' && state === 'running'),
  )
  expect((await historyOf(db, task.id)).filter(({ state }) => state === 'skipped')).toEqual([])
  await request('POST', `/v1/tasks/${task.id}/cancel`)

  const other = await createPaused({ action: long, overlap: 'skip' })
  await backfill(other.id, { ...range(5), overlap: 'allow' })
  await eventually(async () => (await agendaOf(db, other.id)).length === 5)
  const triggered = await request('POST', `/v1/tasks/${other.id}/trigger`, { action: { duration: '0s' } })
  expect(triggered.status).toBe(201)
  await request('POST', `/v1/tasks/${other.id}/cancel`)
})

test('runs belong to the version at the time of the request, whatever is edited meanwhile', async () => {
  const sink = await startSink()
  const webhook = (body: string) => ({ type: 'webhook', url: sink.url, body })
  const task = await createPaused({ action: webhook('old') })

  const { body } = await backfill(task.id, { ...range(5), rate: '10/s' })
  await request('PATCH', `/v1/tasks/${task.id}`, {
    action: webhook('new'),
    schedule: { ...cron, expression: '0 0 1 1 *' },
  })
  const done = await ended(body.id)

  expect(done).toMatchObject({ version: 1, completed: 5 })
  expect(sink.hits.map(({ body }) => body)).toEqual(Array(5).fill('old'))
})

test('cancelling a backfill writes no more runs, ends the waiting ones and stops the running ones', async () => {
  const task = await createPaused({ action: long })
  const { body } = await backfill(task.id, { ...range(40), rate: '10/s' })
  await eventually(async () => (await read(body.id)).running >= 2)

  const cancelled = await request('POST', `/v1/backfills/${body.id}/cancel`)
  const again = await request('POST', `/v1/backfills/${body.id}/cancel`)

  expect(cancelled.body).toMatchObject({
    state: 'cancelled',
    waiting: 0,
    remaining: 0,
    endedAt: expect.any(String),
  })
  expect(again.body).toMatchObject({ status: 409, code: 'backfill_ended' })
  await eventually(async () => (await agendaOf(db, task.id)).length === 0)
  const last = await read(body.id)
  expect(last).toMatchObject({ running: 0, completed: 0, failed: 0 })
  expect(last.cancelled).toBe(last.started)
  expect(last.started).toBeLessThan(40)
})

test('a second backfill of the same task is refused, and the answer names the active one', async () => {
  const task = await createPaused({ action: long })

  const first = await backfill(task.id, range(2))
  const second = await backfill(task.id, range(2))
  const many = await Promise.all([1, 2, 3].map(() => backfill(task.id, range(2))))

  expect(second.body).toMatchObject({ status: 409, code: 'backfill_active', backfillId: first.body.id })
  expect(many.map(({ status }) => status)).toEqual([409, 409, 409])
  await request('DELETE', `/v1/tasks/${task.id}`)
  expect(await read(first.body.id)).toMatchObject({ state: 'cancelled' })
})

test('requests with one Idempotency-Key create one backfill', async () => {
  const task = await createPaused()
  const key = { 'idempotency-key': uuidv7() }

  const answers = await Promise.all([1, 2, 3].map(() => backfill(task.id, range(3), key)))

  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
  await ended(answers[0]?.body.id)
})

test('a backfill is refused if the task is cancelled, deleted, manual or a chain', async () => {
  const cancelled = await createPaused()
  await request('POST', `/v1/tasks/${cancelled.id}/cancel`)
  const deleted = await createPaused()
  await request('DELETE', `/v1/tasks/${deleted.id}`)
  const finished = await create({
    startAt: null,
    overlap: 'allow',
    endAt: iso(Date.now() + 500),
    schedule: { type: 'every', interval: '100ms' },
  })
  await eventually(async () => (await request('GET', `/v1/tasks/${finished.id}`)).body.state === 'finished')

  for (const dryRun of [true, false]) {
    const ask = async (id: string) => (await backfill(id, { ...range(1), dryRun })).body
    expect(await ask(cancelled.id)).toMatchObject({ status: 409, code: 'task_ended' })
    expect(await ask(deleted.id)).toMatchObject({ status: 404, code: 'not_found' })
    for (const schedule of [{ type: 'manual' }, { type: 'delay', interval: '1h' }])
      expect(await ask((await create({ schedule })).id)).toMatchObject({
        status: 409,
        code: 'backfill_impossible',
      })
    expect((await ask(finished.id)).status ?? 200).not.toBe(409)
  }
})
