/** Tasks whose history retention has deleted: what an edit can no longer read there. */
import { beforeAll, expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { Auditor } from '../../src/maintenance/audit/auditor.ts'
import { unfilled } from '../../src/store/backfills/backfill-runs.ts'
import { sql } from '../../src/store/database/sql.ts'
import { ensurePartitionsOf } from '../../src/store/history/partitions.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { createTestDatabase } from '../support/database.ts'
import { agendaOf } from './rows.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { send, context } = await createTestApp(database)
const auditor = new Auditor({
  ...{ db, transport: new PostgresTransport(db), wakeUps: new LocalWakeUps(), log: silentLogger() },
})

const DAY = 86_400_000
const action = { type: 'sleep', duration: '0s' }
const hourly = { type: 'every', interval: '1h' }
const now = () => Math.floor(context.clock.now())
const iso = (ms: number) => new Date(ms).toISOString()

/** The project has lost what ended more than a day ago. */
beforeAll(() =>
  db.run(sql`
    insert into retention (project_id, history_from) values (${DEFAULT_PROJECT_ID}, now() - interval '1 day')
    on conflict (project_id) do update set history_from = excluded.history_from`),
)

async function create(fields: object) {
  const { status, body } = await send('POST', '/v1/tasks', { action, ...fields })
  expect(status).toBe(201)
  return body
}
const edit = (id: string, fields: object) => send('PATCH', `/v1/tasks/${id}`, fields)

/** Lets a task have been created so many days ago. */
const createdBefore = (id: string, days: number) =>
  db.run(sql`
    update task set created_at = created_at - make_interval(days => ${days}::integer), updated_at = updated_at - make_interval(days => ${days}::integer)
    where id = ${id}`)

/** Ends the next occurrence of a task as its so-manieth, three days ago. */
async function ran(id: string, ordinal: number): Promise<void> {
  await db.run(sql`delete from agenda where task_id = ${id}`)
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state)
    values (${uuidv7()}, ${id}, ${DEFAULT_PROJECT_ID}, now() - interval '3 days', now(), 1, ${ordinal}::integer, 'occurrence', 'completed')`)
}
const deleteHistory = (id: string) => db.run(sql`delete from run where task_id = ${id}`)

async function audit(): Promise<void> {
  await db.run(sql`update audit_progress set walked_to = null, next_pass_at = now()`)
  await auditor.runOnce()
}
const findings = async () => (await send('GET', '/v1/findings')).body.items

test('a task that has reached maxRuns stays finished after an edit, and continues counting', async () => {
  const fields = { schedule: hourly, maxRuns: 5, misfire: { window: '7d' } }
  const { body: task } = await send('PUT', '/v1/tasks/by-key/five', { action, ...fields })
  await createdBefore(task.id, 5)
  await ran(task.id, 5)
  await audit()
  await deleteHistory(task.id)

  const replaced = await send('PUT', '/v1/tasks/by-key/five', { action, ...fields, name: 'other' })
  await audit()
  const rowsBefore = await agendaOf(db, task.id)
  const extended = await edit(task.id, { maxRuns: 7 })

  expect(replaced.body.state).toBe('finished')
  expect(rowsBefore).toEqual([])
  expect(extended.body.state).toBe('scheduled')
  expect(await agendaOf(db, task.id)).toMatchObject([{ ordinal: 6 }])
  expect(await findings()).toEqual([])
})

test('a task that becomes manual continues counting when it has a schedule again', async () => {
  const task = await create({ schedule: hourly, maxRuns: 5 })
  await createdBefore(task.id, 5)
  await ran(task.id, 3)
  await edit(task.id, { schedule: { type: 'manual' } })
  await deleteHistory(task.id)

  await edit(task.id, { schedule: hourly })

  expect(await agendaOf(db, task.id)).toMatchObject([{ ordinal: 4 }])
})

test('a one-off that has run stays finished when it is replaced by the same one-off', async () => {
  const schedule = { type: 'once', at: iso(now() - 3 * DAY) }
  for (const window of ['7d', '1d']) {
    const task = await create({ schedule, misfire: { window: '7d' } })
    await createdBefore(task.id, 5)
    await ran(task.id, 1)
    await deleteHistory(task.id)

    const { status, body } = await edit(task.id, { schedule, misfire: { window }, name: 'other' })

    expect([status, body.state]).toEqual([200, 'finished'])
    expect(await agendaOf(db, task.id)).toEqual([])
  }
})

test('a one-off that has run stays finished when it is moved back after it was moved many times', async () => {
  const schedule = { type: 'once', at: iso(now() - 3 * DAY) }
  const task = await create({ schedule, misfire: { window: '7d' } })
  await createdBefore(task.id, 5)
  await ran(task.id, 1)
  await deleteHistory(task.id)
  for (let n = 1; n <= 25; n += 1)
    await edit(task.id, { schedule: { type: 'once', at: iso(now() + DAY + n * 60_000) } })

  const { status, body } = await edit(task.id, { schedule })

  expect([status, body.state]).toEqual([200, 'finished'])
  expect(await agendaOf(db, task.id)).toEqual([])
})

test('a one-off that had another instant runs at one in the past, within the misfire window', async () => {
  const task = await create({
    schedule: { type: 'once', at: iso(now() + DAY) },
    misfire: { window: '7d' },
  })
  const at = iso(now() - 3 * DAY)

  const moved = await edit(task.id, { schedule: { type: 'once', at } })

  expect(moved.body.state).toBe('scheduled')
  expect(await agendaOf(db, task.id)).toMatchObject([{ scheduledFor: Date.parse(at) }])
})

test('a backfill of occurrences that may have completed is refused without force, also as a dry run', async () => {
  const task = await create({ schedule: hourly, overlap: 'allow', startAt: iso(now() - 5 * DAY) })
  const range = { from: iso(now() - 3 * DAY), to: iso(now() - DAY / 2) }
  const backfill = (fields: object) => send('POST', `/v1/tasks/${task.id}/backfill`, { ...range, ...fields })
  const young = await backfill({ dryRun: true })
  await createdBefore(task.id, 5)

  const [dry, stored] = [await backfill({ dryRun: true }), await backfill({})]
  const forced = await backfill({ dryRun: true, force: true })
  const later = await backfill({ dryRun: true, from: iso(now() - DAY + 60_000) })

  expect([young.status, forced.status, later.status]).toEqual([200, 200, 200])
  expect([young.body.runs, forced.body.runs]).toEqual([60, 60])
  const [begin] = await db.run(sql<{ at: number }>`select history_from as at from retention`)
  for (const { status, body } of [dry, stored]) {
    expect([status, body.code]).toEqual([422, 'invalid_input'])
    expect(body.errors).toMatchObject([{ pointer: '/from' }])
    expect(body.errors[0].detail).toContain(`is before ${iso(begin?.at ?? 0).slice(0, 19)}`)
  }
  expect((await send('GET', `/v1/tasks/${task.id}/backfills`)).body.items).toEqual([])
})

test('a backfill passes over what is deleted from history while it is in progress', async () => {
  const task = await create({ schedule: hourly, startAt: iso(now() - 5 * DAY) })
  await createdBefore(task.id, 5)
  const instants = [now() - 3 * DAY, now() - DAY / 2]

  const found = await db.run(unfilled({ taskId: task.id, instants, force: false }))
  const forced = await db.run(unfilled({ taskId: task.id, instants, force: true }))

  expect(found.map(({ at }) => at)).toEqual(instants.slice(1))
  expect(forced).toHaveLength(2)
})

test('a retrying run that was last tried before the retained history is listed in its order', async () => {
  const task = await create({ schedule: hourly })
  await db.run(
    sql`update agenda set state = 'retrying', attempt = 2, wake_at = wake_at + interval '9 days' where task_id = ${task.id}`,
  )
  const [run] = await agendaOf(db, task.id)
  for (const [number, daysAgo] of [
    [1, 4],
    [2, 3],
  ] as const) {
    await db.run(ensurePartitionsOf(now() - daysAgo * DAY))
    await db.run(sql`
      insert into attempt (run_id, task_id, ended_at, number, fence, outcome)
      values (${run?.runId}, ${task.id}, now() - make_interval(days => ${daysAgo}::integer), ${number}::integer, 1, 'failed')`)
  }
  await ran((await create({ schedule: hourly })).id, 1)
  const listed = async (query: string) =>
    (await send('GET', `/v1/runs?limit=100&${query}`)).body.items.map(({ id }: { id: string }) => id)

  expect((await listed('')).at(-1)).toBe(run?.runId)
  expect(await listed('state=retrying')).toEqual([run?.runId])
  expect(await listed(`state=retrying&from=${iso(now() - 2 * DAY)}`)).toEqual([])
  expect(await listed('state=completed')).not.toContain(run?.runId)
})
