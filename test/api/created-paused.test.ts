/** Tasks that are paused when they are created: what does not run until somebody resumes them, and what runs then. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { lockTaskRow } from '../../src/store/tasks/locked-task.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { agendaOf, historyOf } from './rows.ts'
import { createTestApp, storedIn } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { send, context } = await createTestApp(database)

const MINUTE = 60_000
const action = { type: 'sleep', duration: '0s' }
const hourly = { type: 'every', interval: '1h' }
const now = () => Math.floor(context.clock.now())
const iso = (ms: number) => new Date(ms).toISOString()

const create = async (fields: object = {}) => {
  const { status, body } = await send('POST', '/v1/tasks', { action, paused: true, ...fields })
  expect(status).toBe(201)
  return body
}
const act = async (id: string, verb: string, body?: object) =>
  (await send('POST', `/v1/tasks/${id}/${verb}`, body)).body
const edit = (id: string, fields: object) => send('PATCH', `/v1/tasks/${id}`, fields)
const shown = async (id: string) => (await send('GET', `/v1/tasks/${id}`)).body
const ledger = async (id: string) => {
  const query = `from=${iso(now() - 60 * MINUTE)}&to=${iso(now() + MINUTE)}`
  return (await send('GET', `/v1/tasks/${id}/ledger?${query}`)).body
}

/** Lets a task have been created paused so long ago. */
const createdBefore = (id: string, ms: number) =>
  db.run(sql`
    with noted as (update task_pause set paused_at = paused_at - make_interval(secs => ${ms / 1000}::float8) where task_id = ${id})
    update task set created_at = created_at - make_interval(secs => ${ms / 1000}::float8), paused_at = paused_at - make_interval(secs => ${ms / 1000}::float8),
      updated_at = updated_at - make_interval(secs => ${ms / 1000}::float8)
    where id = ${id}`)

test('a task created paused is not due and shows the state paused', async () => {
  const task = await create()

  expect(task).toMatchObject({
    state: 'paused',
    pausedAt: task.createdAt,
    pauseReason: null,
    nextFireAt: null,
  })
  expect(task.updatedAt).toBe(task.createdAt)
  expect(await shown(task.id)).toEqual(task)
  expect(await agendaOf(db, task.id)).toEqual([])
  expect((await send('GET', `/v1/tasks/${task.id}/why`)).body).toMatchObject({ code: 'paused' })
  expect(await ledger(task.id)).toMatchObject({ isInOrder: true, counts: { skipped: 1 } })
  const { items } = (await send('GET', `/v1/audit-log?subject=${task.id}`)).body
  expect(items).toMatchObject([{ action: 'task.create', after: { version: 1, paused: true } }])
})

test('a task that is due at once does not run before it is resumed', async () => {
  const node = await startTestNode(database)
  const { body: task } = await node.request('POST', '/v1/tasks', { action, paused: true, maxRuns: 1 })
  const { body: other } = await node.request('POST', '/v1/tasks', { action })
  const state = async (id: string) => (await node.request('GET', `/v1/tasks/${id}`)).body.state
  await eventually(async () => (await state(other.id)) === 'finished')
  const before = await historyOf(db, task.id)

  await node.request('POST', `/v1/tasks/${task.id}/resume`)
  await eventually(async () => (await state(task.id)) === 'finished')

  expect(before).toEqual([])
  const scheduledFor = Date.parse(task.createdAt)
  expect(await historyOf(db, task.id)).toMatchObject([{ state: 'completed', ordinal: 1, scheduledFor }])
  expect(await ledger(task.id)).toMatchObject({ isInOrder: true, counts: { ran: 1 } })
})

test('a task that was due at once still runs after an edit and a new end of its pause', async () => {
  const task = await create({ schedule: { type: 'once', at: iso(now() - MINUTE) } })
  await edit(task.id, { priority: 3 })
  await act(task.id, 'pause', { until: iso(now() + MINUTE) })
  const inBetween = await ledger(task.id)

  const resumed = await act(task.id, 'resume')

  expect(inBetween).toMatchObject({ isInOrder: true, counts: { skipped: 1 } })
  expect(resumed.state).toBe('scheduled')
  const scheduledFor = Date.parse(task.schedule.at)
  expect(await agendaOf(db, task.id)).toMatchObject([
    { state: 'scheduled', version: 2, ordinal: 1, scheduledFor },
  ])
  expect(await historyOf(db, task.id)).toEqual([])
})

test('a task that was due at once and is cancelled records a skip', async () => {
  const task = await create()

  await act(task.id, 'cancel')

  const scheduledFor = Date.parse(task.createdAt)
  expect(await historyOf(db, task.id)).toMatchObject([{ state: 'skipped', reason: 'paused', scheduledFor }])
  expect(await ledger(task.id)).toMatchObject({ isInOrder: true, counts: { skipped: 1 } })
})

test('occurrences that come due later in the pause are skipped, as in any pause', async () => {
  const once = await create({ schedule: { type: 'once', at: iso(now() + MINUTE) } })
  const grid = await create({ schedule: hourly, startAt: iso(now() + 2 * MINUTE), maxRuns: 2 })
  await createdBefore(once.id, 5 * MINUTE)
  await createdBefore(grid.id, 5 * MINUTE)
  const past = now() - 3 * MINUTE
  for (const { id } of [once, grid])
    await db.run(sql`
      update task set definition = replace(replace(definition::text, ${once.schedule.at}, ${iso(past)}), ${grid.startAt}, ${iso(past)})::json
      where id = ${id}`)

  const [over, goesOn] = [await act(once.id, 'resume'), await act(grid.id, 'resume')]

  expect(over.state).toBe('finished')
  expect(await historyOf(db, once.id)).toMatchObject([{ reason: 'paused', scheduledFor: past, count: 1 }])
  expect(goesOn).toMatchObject({ state: 'scheduled', nextFireAt: iso(past + 60 * MINUTE) })
  expect(await historyOf(db, grid.id)).toMatchObject([{ reason: 'paused', scheduledFor: past, count: 1 }])
  expect(await agendaOf(db, grid.id)).toMatchObject([{ ordinal: 1 }])
})

test('a one-off that came due in the pause stays over after an edit, even when its history is deleted', async () => {
  const task = await create({ schedule: { type: 'once', at: iso(now() + MINUTE) } })
  await createdBefore(task.id, 5 * MINUTE)
  const past = now() - 3 * MINUTE
  await db.run(sql`
    update task set definition = replace(definition::text, ${task.schedule.at}, ${iso(past)})::json where id = ${task.id}`)
  await edit(task.id, { priority: 3 })
  const skipped = await historyOf(db, task.id)
  await db.run(sql`delete from run where task_id = ${task.id}`)
  await edit(task.id, { priority: 4 })

  const resumed = await act(task.id, 'resume')

  expect(skipped).toMatchObject([{ reason: 'paused', scheduledFor: past }])
  expect(resumed.state).toBe('finished')
  expect(await agendaOf(db, task.id)).toEqual([])
})

test('a one-off that an edit sets to now runs when the task is resumed, even if the edit waited for the task', async () => {
  const task = await create({ schedule: { type: 'once', at: iso(now() + MINUTE) } })
  const waiting = () =>
    db.run(
      sql<{
        pid: number
      }>`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )

  const edited = await db.transaction(async (tx) => {
    await tx.run(lockTaskRow(task.id))
    const answer = edit(task.id, { schedule: 'now' })
    await eventually(async () => (await waiting()).length > 0)
    return { answer }
  })
  const { body } = await edited.answer
  const resumed = await act(task.id, 'resume')

  expect(resumed.state).toBe('scheduled')
  expect(await agendaOf(db, task.id)).toMatchObject([{ scheduledFor: Date.parse(body.schedule.at) }])
  expect(await historyOf(db, task.id)).toEqual([])
})

test('a chain begins when the task is resumed', async () => {
  const task = await create({ schedule: { type: 'delay', interval: '1h' } })

  await act(task.id, 'resume')

  const [row, ...others] = await agendaOf(db, task.id)
  expect(others).toEqual([])
  expect(row).toMatchObject({ state: 'scheduled', ordinal: 1, delayMs: 60 * MINUTE })
  expect(await historyOf(db, task.id)).toEqual([])
})

test('a manual task can be created paused and triggered', async () => {
  const task = await create({ schedule: { type: 'manual' } })

  await act(task.id, 'trigger')

  expect(await shown(task.id)).toMatchObject({ state: 'paused', openRun: { state: 'pending' } })
})

test('a bulk request can create some of its tasks paused', async () => {
  const { status, body } = await send('POST', '/v1/tasks/bulk', {
    tasks: [{ action, paused: true }, { action }, { action, paused: false, schedule: hourly }],
  })

  expect(status).toBe(201)
  expect(body.items.map(({ state }: { state: string }) => state)).toEqual([
    'paused',
    'scheduled',
    'scheduled',
  ])
  const rows = await Promise.all(body.items.map(({ id }: { id: string }) => agendaOf(db, id)))
  expect(rows.map(({ length }) => length)).toEqual([0, 1, 1])
})

test('PUT by key pauses a task only when it creates the task', async () => {
  const put = (key: string, fields: object) =>
    send('PUT', `/v1/tasks/by-key/${key}`, { action, schedule: hourly, ...fields })

  const created = await put('deployed', { paused: true })
  const again = await put('deployed', {})
  await act(created.body.id, 'resume')
  const resumed = await put('deployed', { paused: true })

  expect([created.status, created.body.state]).toEqual([201, 'paused'])
  expect([again.status, again.body.state]).toEqual([200, 'paused'])
  expect([resumed.status, resumed.body.state, resumed.body.version]).toEqual([200, 'scheduled', 1])
})

test('a paused task that is replaced by one that is due at once runs when it is resumed', async () => {
  const { body: task } = await send('PUT', '/v1/tasks/by-key/at-once', { action, paused: true })
  await createdBefore(task.id, MINUTE)
  await send('PUT', '/v1/tasks/by-key/at-once', { action })
  await edit(task.id, { priority: 3 })

  const resumed = await act(task.id, 'resume')

  expect(resumed).toMatchObject({ state: 'scheduled', version: 3 })
  expect(await agendaOf(db, task.id)).toMatchObject([
    { ordinal: 1, scheduledFor: Date.parse(resumed.schedule.at) },
  ])
})

test('a repeated request gets the stored answer; the same key without paused is refused', async () => {
  const repeated = (body: object) =>
    send('POST', '/v1/tasks', { action, ...body }, { 'idempotency-key': 'once-and-for-all' })

  const first = await repeated({ paused: true })
  await act(first.body.id, 'resume')
  const second = await repeated({ paused: true })
  const other = await repeated({})

  expect(second).toMatchObject({ status: 201, body: first.body })
  expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
})

test('paused is not a field of the task: versions do not contain it and edits refuse it', async () => {
  const task = await create({ schedule: hourly })
  const before = await storedIn(db)

  const edited = await edit(task.id, { priority: 3, paused: false })
  const bad = await send('POST', '/v1/tasks', { action, paused: 'yes' })

  expect(edited).toMatchObject({ status: 422, body: { errors: [{ pointer: '/paused' }] } })
  expect(bad).toMatchObject({ status: 422, body: { errors: [{ pointer: '/paused' }] } })
  expect(await storedIn(db)).toBe(before)
  const { definition } = (await send('GET', `/v1/tasks/${task.id}/versions/1`)).body
  expect(Object.keys(definition)).not.toContain('paused')
})
