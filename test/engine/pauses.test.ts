/** Pauses that end by themselves, and occurrences that are skipped because somebody said so. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { agendaOf, historyOf } from '../api/rows.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode, type TestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database)

const MINUTE = 60_000
const action = { type: 'sleep', duration: '0s' }
const iso = (ms: number) => new Date(ms).toISOString()
const create = async (fields: Record<string, unknown>, on: TestNode = node) =>
  (await on.request('POST', '/v1/tasks', { action, ...fields })).body
const read = async (id: string) => (await node.request('GET', `/v1/tasks/${id}`)).body
const post = (id: string, verb: string, body?: unknown) =>
  node.request('POST', `/v1/tasks/${id}/${verb}`, body)

test('a pause with an end resumes the task at that instant and shows its reason until then', async () => {
  const task = await create({ schedule: { type: 'every', interval: '100ms' } })
  // Long enough for the request to arrive before it, also on a busy machine.
  const until = Date.now() + 5_000

  const paused = (await post(task.id, 'pause', { reason: 'the warehouse moves', until: iso(until) })).body

  expect(paused).toMatchObject({
    state: 'paused',
    pauseReason: 'the warehouse moves',
    resumeAt: iso(until),
  })
  await eventually(async () =>
    (await historyOf(db, task.id)).some(
      ({ scheduledFor, state }) => state === 'completed' && scheduledFor > until,
    ),
  )
  await post(task.id, 'pause')
  const history = await historyOf(db, task.id)
  const skip = history.findLast(({ reason, scheduledFor }) => reason === 'paused' && scheduledFor <= until)
  expect(skip?.until).toBeLessThanOrEqual(until)
  expect((skip?.until ?? 0) + 100).toBeGreaterThan(until)
  expect(await read(task.id)).toMatchObject({ pauseReason: null, resumeAt: null })
  const pauses = await db.run(sql<{ reason: string | null; isOver: boolean }>`
    select reason, resumed_at is not null as "isOver" from task_pause where task_id = ${task.id} order by paused_at`)
  expect(pauses).toEqual([
    { reason: 'the warehouse moves', isOver: true },
    { reason: null, isOver: false },
  ])
})

test('a pause that should end during an outage ends on time, and later occurrences are missed', async () => {
  const other = await createTestDatabase()
  const before = await startTestNode(other)
  const anchor = Math.floor(Date.now() / MINUTE) * MINUTE - 60 * MINUTE
  const task = await create(
    { schedule: { type: 'every', interval: '1m', anchor: iso(anchor) }, misfire: { policy: 'skip' } },
    before,
  )
  await before.request('POST', `/v1/tasks/${task.id}/pause`, { until: iso(Date.now() + 60 * MINUTE) })
  await before.stop()
  const ended = anchor + 30 * MINUTE + 1_000
  await other.db.run(sql`
    update agenda set wake_at = to_timestamp(${ended}::float8 / 1000), scheduled_for = to_timestamp(${ended}::float8 / 1000)
    where task_id = ${task.id} and kind = 'resume'`)
  await other.db.run(sql`
    update task set paused_at = to_timestamp(${anchor + 1}::float8 / 1000), updated_at = to_timestamp(${anchor + 1}::float8 / 1000)
    where id = ${task.id}`)
  await other.db.run(sql`update shard set watched_until = to_timestamp(${anchor}::float8 / 1000)`)

  await startTestNode(other)

  await eventually(async () => (await historyOf(other.db, task.id)).length >= 2)
  const [paused, missed] = await historyOf(other.db, task.id)
  expect(paused).toMatchObject({
    reason: 'paused',
    scheduledFor: anchor + MINUTE,
    until: anchor + 30 * MINUTE,
    count: 30,
  })
  expect(missed).toMatchObject({ reason: 'misfire', scheduledFor: anchor + 31 * MINUTE })
})

test('a resume removes the planned end of a pause and keeps the reason of the pause', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h' } })
  await post(task.id, 'pause', { until: iso(Date.now() + MINUTE) })
  await post(task.id, 'pause', { reason: 'longer', until: iso(Date.now() + 2 * MINUTE) })

  await post(task.id, 'resume', { reason: 'all is well' })

  expect((await agendaOf(db, task.id)).map(({ kind }) => kind)).toEqual(['occurrence'])
  const [pause] = await db.run(sql<{ reason: string; resumeReason: string }>`
    select reason, resume_reason as "resumeReason" from task_pause where task_id = ${task.id}`)
  expect(pause).toEqual({ reason: 'longer', resumeReason: 'all is well' })
})

test('a pause cannot end in the past, and a deleted task is not resumed', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h' } })

  const refused = await post(task.id, 'pause', { until: '2020-01-01T00:00:00Z' })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/until' }] } })
  expect((await read(task.id)).state).toBe('scheduled')

  await post(task.id, 'pause', { until: iso(Date.now() + MINUTE) })
  await node.request('DELETE', `/v1/tasks/${task.id}`)
  expect(await agendaOf(db, task.id)).toEqual([])
  expect(await historyOf(db, task.id)).toEqual([])
})

test('skip-next skips the next occurrences, and the task continues after them', async () => {
  const task = await create({
    schedule: { type: 'every', interval: '200ms' },
    // Not before it is asked to skip, however slow the machine is.
    startAt: iso(Date.now() + 5_000),
    maxRuns: 2,
    overlap: 'allow',
  })

  const skipping = (await post(task.id, 'skip-next', { count: 2, reason: 'stocktaking' })).body

  const first = Date.parse(task.nextFireAt)
  expect(skipping).toMatchObject({
    skipNext: { until: iso(first + 200), reason: 'stocktaking' },
    nextFireAt: iso(first + 400),
  })
  await eventually(async () => (await read(task.id)).state === 'finished')
  expect(
    (await historyOf(db, task.id)).map(({ scheduledFor, state, reason, ordinal }) => [
      scheduledFor - first,
      state,
      reason,
      ordinal,
    ]),
  ).toEqual([
    [0, 'skipped', 'skip_next', 1],
    [200, 'skipped', 'skip_next', 1],
    [400, 'completed', null, 1],
    [600, 'completed', null, 2],
  ])
  expect((await read(task.id)).skipNext).toBeNull()
})

test('cancelling skip-next lets the remaining occurrences run', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h' } })
  await post(task.id, 'skip-next', { count: 3 })
  const again = (await post(task.id, 'skip-next')).body
  expect(again.skipNext.until).toBe(task.nextFireAt)

  const { status, body } = await node.request('DELETE', `/v1/tasks/${task.id}/skip-next`)

  expect(status).toBe(200)
  expect(body).toMatchObject({ skipNext: null, nextFireAt: task.nextFireAt })
  expect(await agendaOf(db, task.id)).toMatchObject([{ kind: 'occurrence', ordinal: 1 }])
})

test('a pause and an edit keep the occurrences that skip-next will skip', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h' } })
  const { body } = await post(task.id, 'skip-next')

  await post(task.id, 'pause')
  const resumed = (await post(task.id, 'resume')).body
  const edited = (
    await node.request('PATCH', `/v1/tasks/${task.id}`, { schedule: { type: 'every', interval: '30m' } })
  ).body

  expect(resumed).toMatchObject({ nextFireAt: body.nextFireAt, skipNext: body.skipNext })
  expect(edited.skipNext).toEqual(body.skipNext)
  expect(Date.parse(edited.nextFireAt)).toBeGreaterThan(Date.parse(body.skipNext.until))
  expect((await agendaOf(db, task.id)).map(({ kind }) => kind).sort()).toEqual(['occurrence', 'skip'])
})

test('skip-next is refused for a task with no next occurrence', async () => {
  const manual = await create({ schedule: { type: 'manual' } })

  expect(await post(manual.id, 'skip-next')).toMatchObject({ status: 409, body: { code: 'nothing_ahead' } })
  expect(await post(manual.id, 'skip-next', { count: 0 })).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/count' }] },
  })
})
