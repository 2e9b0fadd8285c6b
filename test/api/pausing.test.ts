import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { Auditor } from '../../src/maintenance/audit/auditor.ts'
import { sweepProjects } from '../../src/operations/projects/archive-project.ts'
import { endPauseOnTime } from '../../src/operations/tasks/pause-task.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { agendaOf, forceState, historyOf, movePause, moveWaiting } from './rows.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { send, context } = await createTestApp(database)
const auditor = new Auditor({
  ...{ db, transport: new PostgresTransport(db), wakeUps: new LocalWakeUps(), log: silentLogger() },
})

const MINUTE = 60_000
const action = { type: 'sleep', duration: '1s' }
const now = () => Math.floor(context.clock.now())
const iso = (ms: number) => new Date(ms).toISOString()

const create = async (fields: Record<string, unknown>) =>
  (await send('POST', '/v1/tasks', { action, ...fields })).body
const pause = async (id: string) => (await send('POST', `/v1/tasks/${id}/pause`)).body
const resume = async (id: string) => (await send('POST', `/v1/tasks/${id}/resume`)).body

/** Lets everything that was set for a paused task have been set so much earlier. */
async function moveBack(id: string, ms: number): Promise<void> {
  await db.run(sql`
    update task set created_at = created_at - make_interval(secs => ${ms}::float8 / 1000), updated_at = updated_at - make_interval(secs => ${ms}::float8 / 1000),
      paused_at = paused_at - make_interval(secs => ${ms}::float8 / 1000), resume_at = resume_at - make_interval(secs => ${ms}::float8 / 1000),
      definition = (definition::jsonb || jsonb_build_object(
        'startAt', (definition ->> 'startAt')::timestamptz - make_interval(secs => ${ms}::float8 / 1000),
        'endAt', (definition ->> 'endAt')::timestamptz - make_interval(secs => ${ms}::float8 / 1000)))::json
    where id = ${id}`)
  await db.run(sql`
    update agenda set wake_at = wake_at - make_interval(secs => ${ms}::float8 / 1000), scheduled_for = scheduled_for - make_interval(secs => ${ms}::float8 / 1000)
    where task_id = ${id}`)
}

async function audit(): Promise<void> {
  await db.run(sql`update audit_progress set walked_to = null, next_pass_at = now()`)
  await auditor.runOnce()
}

test('the audit log has the end and the reason of a pause before and after each change', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h' } })
  const [early, late] = [iso(now() + 10 * MINUTE), iso(now() + 20 * MINUTE)]
  const path = `/v1/tasks/${task.id}`

  const { pausedAt } = (await send('POST', `${path}/pause`, { until: early, reason: 'deploy' })).body
  await send('POST', `${path}/pause`, { until: late, reason: 'rollback' })
  await send('POST', `${path}/resume`)

  const { body } = await send('GET', `/v1/audit-log?subject=${task.id}`)
  const none = { pausedAt: null, resumeAt: null, pauseReason: null }
  const first = { pausedAt, resumeAt: early, pauseReason: 'deploy' }
  const second = { pausedAt, resumeAt: late, pauseReason: 'rollback' }
  expect(body.items).toMatchObject([
    { action: 'task.resume', before: second, after: none },
    { action: 'task.pause', before: first, after: second },
    { action: 'task.pause', before: none, after: first },
    { action: 'task.create' },
  ])
})

test('a pause removes the next occurrence, and a second pause changes nothing', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h' } })

  const first = await pause(task.id)
  const second = await pause(task.id)

  expect(first).toMatchObject({ state: 'paused', nextFireAt: null })
  expect(second).toEqual(first)
  expect(await agendaOf(db, task.id)).toEqual([])
})

test('resuming records one skip with range and exact count, and schedules the next occurrence', async () => {
  // The next occurrence is five seconds away, so that nothing is due before the pause.
  const anchor = now() - 60 * MINUTE - 5_000
  const task = await create({
    schedule: { type: 'every', interval: '10s', anchor: iso(anchor) },
    maxRuns: 10,
  })
  await pause(task.id)
  const pausedAt = now() - 10 * MINUTE
  await movePause(db, task.id, pausedAt)

  const resumed = await resume(task.id)

  const first = pausedAt + 10_000 - ((pausedAt - anchor) % 10_000)
  const [skip, ...others] = await historyOf(db, task.id)
  expect(others).toEqual([])
  expect(skip).toMatchObject({ state: 'skipped', reason: 'paused', scheduledFor: first, ordinal: 1 })
  expect(skip?.count).toBe(((skip?.until ?? 0) - first) / 10_000 + 1)
  expect((skip?.until ?? 0) + 10_000).toBe(Date.parse(resumed.nextFireAt))
  expect(await agendaOf(db, task.id)).toMatchObject([{ ordinal: 1, version: 1 }])
  expect((await resume(task.id)).nextFireAt).toBe(resumed.nextFireAt)
})

test('a pause without a due occurrence records nothing', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h' } })
  await pause(task.id)

  const resumed = await resume(task.id)

  expect(resumed.nextFireAt).toBe(task.nextFireAt)
  expect(await historyOf(db, task.id)).toEqual([])
})

test('too many skipped occurrences are recorded without a count', async () => {
  const task = await create({ schedule: { type: 'cron', expression: '* * * * * *' } })
  await pause(task.id)
  await movePause(db, task.id, now() - 24 * 60 * MINUTE)

  await resume(task.id)

  expect(await historyOf(db, task.id)).toMatchObject([{ reason: 'paused', count: null }])
})

test('a task that runs every 10 ms can be resumed after a year', async () => {
  const task = await create({ schedule: { type: 'every', interval: '10ms' }, paused: true })
  await movePause(db, task.id, now() - 365 * 24 * 60 * MINUTE)

  const resumed = await resume(task.id)

  const [skip] = await historyOf(db, task.id)
  expect(resumed.state).toBe('scheduled')
  expect(skip).toMatchObject({ reason: 'paused', count: null })
  expect((skip?.until ?? 0) - (skip?.scheduledFor ?? 0)).toBeGreaterThan(364 * 24 * 60 * MINUTE)
})

test('an occurrence that is due but not fired when the pause begins is part of the skip', async () => {
  const due = now() - 2_500
  const task = await create({ schedule: { type: 'every', interval: '1s', anchor: iso(due) } })
  await moveWaiting(db, task.id, due)

  await pause(task.id)

  const [skip] = await historyOf(db, task.id)
  expect(skip).toMatchObject({ reason: 'paused', scheduledFor: due, until: due + 2_000, count: 3 })
})

test('a one-off whose instant passes during a pause is finished', async () => {
  const at = now() + MINUTE
  const task = await create({ schedule: { type: 'once', at: iso(at) } })
  await pause(task.id)
  await movePause(db, task.id, at - 2 * MINUTE)
  const past = at - MINUTE - 1_000
  await db.run({
    text: `update task set definition = jsonb_set(definition::jsonb, '{schedule,at}', to_jsonb($2::text))::json where id = $1`,
    values: [task.id, iso(past)],
  })

  const resumed = await resume(task.id)

  expect(resumed.state).toBe('finished')
  expect(await historyOf(db, task.id)).toMatchObject([
    { reason: 'paused', scheduledFor: past, until: past, count: 1 },
  ])
})

test('a one-off that is still ahead after the pause keeps its instant', async () => {
  const task = await create({ schedule: { type: 'once', at: iso(now() + MINUTE) } })

  await pause(task.id)

  expect((await resume(task.id)).nextFireAt).toBe(task.nextFireAt)
})

test('resuming a chain restarts it once: after its active run, or now', async () => {
  const waiting = await create({ schedule: { type: 'delay', interval: '1h' }, startAt: iso(now() + MINUTE) })
  const active = await create({ schedule: { type: 'delay', interval: '1h' } })
  await forceState(db, active.id, 'retrying')

  for (const { id } of [waiting, active]) {
    await pause(id)
    expect((await agendaOf(db, id)).filter(({ state, delayMs }) => state === 'scheduled' || delayMs)).toEqual(
      [],
    )
    await resume(id)
    await resume(id)
  }

  expect(await agendaOf(db, waiting.id)).toMatchObject([
    { state: 'scheduled', delayMs: 60 * MINUTE, scheduledFor: Date.parse(waiting.startAt) },
  ])
  expect(await agendaOf(db, active.id)).toMatchObject([{ state: 'retrying', delayMs: 60 * MINUTE }])
})

test('a chain whose end passes during a pause is finished, also if the pause ends by itself or with an edit', async () => {
  const chain = {
    schedule: { type: 'delay', interval: '1s' },
    startAt: iso(now() + 1_000),
    endAt: iso(now() + MINUTE),
  }
  const [resumed, lapsed, edited] = [await create(chain), await create(chain), await create(chain)]
  for (const { id } of [resumed, lapsed, edited]) {
    await send('POST', `/v1/tasks/${id}/pause`, { until: iso(now() + 2 * MINUTE) })
    await moveBack(id, 3 * MINUTE)
  }
  const [duty] = await agendaOf(db, lapsed.id)

  const answer = await send('POST', `/v1/tasks/${resumed.id}/resume`)
  await endPauseOnTime(context, duty?.runId ?? '')
  const edit = await send('PATCH', `/v1/tasks/${edited.id}`, { endAt: iso(now() + MINUTE) })
  await audit()

  expect(answer).toMatchObject({ status: 200, body: { state: 'finished', nextFireAt: null } })
  expect(edit).toMatchObject({ status: 200, body: { state: 'scheduled', pausedAt: null } })
  for (const { id } of [resumed, lapsed]) {
    expect(await agendaOf(db, id)).toEqual([])
    expect((await send('GET', `/v1/tasks/${id}`)).body).toMatchObject({ state: 'finished', pausedAt: null })
    expect((await send('GET', `/v1/tasks/${id}/ledger`)).body).toMatchObject({ isInOrder: true })
    expect((await send('GET', `/v1/tasks/${id}/why`)).body).toMatchObject({ code: 'finished' })
    expect(await historyOf(db, id)).toMatchObject([{ state: 'skipped', reason: 'paused', ordinal: 1 }])
  }
  expect(await agendaOf(db, edited.id)).toMatchObject([{ kind: 'occurrence', state: 'scheduled' }])
})

test('a chain that ended before its history begins has nothing recorded as skipped when its pause ends', async () => {
  const { id } = await create({
    schedule: { type: 'delay', interval: '1s' },
    startAt: iso(now() + 1_000),
    endAt: iso(now() + MINUTE),
  })
  await send('POST', `/v1/tasks/${id}/pause`)
  await moveBack(id, 3 * MINUTE)
  await db.run(sql`
    insert into retention (project_id, history_from) values (${DEFAULT_PROJECT_ID}, now() - interval '1 minute')`)

  const { status } = await send('POST', `/v1/tasks/${id}/resume`)
  await db.run(sql`delete from retention where project_id = ${DEFAULT_PROJECT_ID}`)

  expect(status).toBe(200)
  expect(await historyOf(db, id)).toEqual([])
})

test('an active run continues through the pause and counts towards maxRuns', async () => {
  const node = await startTestNode(database)
  const request = (verb: string) => node.request('POST', `/v1/tasks/${task.id}/${verb}`)
  const { body: task } = await node.request('POST', '/v1/tasks', {
    // Long enough for the pause to find it running, also on a busy machine.
    action: { type: 'sleep', duration: '4s' },
    schedule: { type: 'delay', interval: '20ms' },
    maxRuns: 2,
  })
  const read = async () => (await node.request('GET', `/v1/tasks/${task.id}`)).body
  await eventually(async () => (await read()).openRun?.state === 'running')

  const paused = await request('pause')
  await eventually(async () => (await read()).openRun === null)
  const stillPaused = await read()
  await request('resume')
  await eventually(async () => (await read()).state === 'finished')

  expect(paused.body).toMatchObject({ state: 'paused', openRun: { state: 'running' } })
  expect(stillPaused).toMatchObject({ state: 'paused', nextFireAt: null })
  expect(await historyOf(db, task.id)).toMatchObject([
    { state: 'completed', ordinal: 1 },
    { state: 'completed', ordinal: 2 },
  ])
})

test('a retry goes on during a pause', async () => {
  const node = await startTestNode(database)
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'ping', url: 'http://127.0.0.1:1/' },
    schedule: { type: 'every', interval: '1h', anchor: iso(now() + 200) },
    retry: { limit: 1, initial: '300ms', max: '300ms' },
  })
  const read = async () => (await node.request('GET', `/v1/tasks/${task.id}`)).body
  await eventually(async () => (await read()).openRun?.attempt === 1)

  await node.request('POST', `/v1/tasks/${task.id}/pause`)

  await eventually(async () => (await historyOf(db, task.id)).length > 0)
  expect(await historyOf(db, task.id)).toMatchObject([{ state: 'permanently_failed' }])
  expect((await read()).state).toBe('paused')
})

test('catch-up runs that a scheduler writes during the pause are skipped too', async () => {
  const task = await create({ schedule: { type: 'every', interval: '1h' } })
  const pausing = db.transaction(async (scheduler) => {
    // As a scheduler does that catches up on missed occurrences: it locks the occurrence while it writes the rows.
    await scheduler.run(sql`select from agenda where task_id = ${task.id} for update`)
    const paused = pause(task.id)
    await eventually(async () => {
      const waiting = await db.run(
        sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return waiting.length > 0
    })
    await scheduler.run(sql`
      insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, lane, priority, kind)
      select gen_random_uuid(), task_id, project_id, shard, now() + interval '1 minute', scheduled_for - interval '1 hour', version,
             ordinal, lane, priority, 'catchup'
      from agenda where task_id = ${task.id}`)
    return { paused }
  })
  const { paused } = await pausing

  expect(await paused).toMatchObject({ state: 'paused' })
  expect(await agendaOf(db, task.id)).toEqual([])
  expect(await historyOf(db, task.id)).toMatchObject([{ state: 'skipped', reason: 'paused' }])
})

test('a task whose pause ends while its archived project is restored resumes', async () => {
  const headers = { 'belfry-project': 'back' }
  await send('POST', '/v1/projects', { name: 'back' })
  const { body: task } = await send(
    'POST',
    '/v1/tasks',
    { action, schedule: { type: 'every', interval: '1d' } },
    headers,
  )
  await send('POST', `/v1/tasks/${task.id}/pause`, { until: iso(now() + MINUTE) }, headers)
  const [duty] = await agendaOf(db, task.id)
  await send('DELETE', '/v1/projects/back')

  const both = await db.transaction(async (tx) => {
    const areWaiting = (count: number) =>
      eventually(async () => {
        const waiting = await db.run(
          sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return waiting.length >= count
      })
    await tx.run(sql`select from task where id = ${task.id} for update`)
    // It has read that the project is archived.
    const ended = endPauseOnTime(context, duty?.runId ?? '')
    await areWaiting(1)
    const restored = send('POST', '/v1/projects/back/restore')
    await areWaiting(2)
    return { ended, restored }
  })
  await both.ended
  const restored = await both.restored
  await sweepProjects(context)

  expect(restored).toMatchObject({ status: 200, body: { archivedAt: null } })
  const { body: after } = await send('GET', `/v1/tasks/${task.id}`, undefined, headers)
  expect(after).toMatchObject({ state: 'scheduled', pausedAt: null, resumeAt: null })
})
