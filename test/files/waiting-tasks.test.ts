/** Tasks that name files which have not been uploaded yet: what they do until then, and what lets them go on. */
import { expect, test } from 'vitest'
import { FileWaits } from '../../src/maintenance/file-waits.ts'
import type { Facilities } from '../../src/operations/context.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { agendaOf, historyOf, movePause } from '../api/rows.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aFile, aWaitingFile, put, someBytes } from './support.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { roles: 'api' })

const MINUTE = 60_000
const HOURLY = { type: 'every', interval: '1h' }
const UNKNOWN = '01900000-0000-7000-8000-000000000000'
const exec = (file: string, more: object = {}) => ({ type: 'exec', file, ...more })
const iso = (ms: number) => new Date(ms).toISOString()

const create = (fields: object) => node.request('POST', '/v1/tasks', fields)
const act = (id: string, verb: string, body?: object) => node.request('POST', `/v1/tasks/${id}/${verb}`, body)
const edit = (id: string, fields: object) => node.request('PATCH', `/v1/tasks/${id}`, fields)
const shown = async (id: string) => (await node.request('GET', `/v1/tasks/${id}`)).body
const why = async (id: string) => (await node.request('GET', `/v1/tasks/${id}/why`)).body
const upload = (file: { uploadUrl: string }) => put(node, file.uploadUrl, someBytes(100))

const waits = new FileWaits({
  facilities: {
    db,
    clock: { now: () => Date.now() },
    wakeUps: new LocalWakeUps(),
  } as unknown as Facilities,
  log: silentLogger(),
})

/** A task that waits for a file, and the file. */
async function aWait(fields: object = {}, more: object = {}) {
  const file = await aWaitingFile(node, { name: 'backup.sh' })
  const { body } = await create({ action: exec(file.id, more), ...fields })
  return { id: body.id as string, file, created: body }
}

test('a task whose file is ready is scheduled at once, and the file is in use', async () => {
  const file = await aFile(node, someBytes(100))

  const { status, body } = await create({ name: 'nightly', action: exec(file), schedule: HOURLY })

  expect({ status, state: body.state }).toEqual({ status: 201, state: 'scheduled' })
  const refused = await node.request('DELETE', `/v1/files/${file}`)
  expect(refused).toMatchObject({ status: 409, body: { code: 'file_in_use' } })
  expect(refused.body.detail).toContain('nightly')
})

test('an unknown file is refused at its field, and nothing is stored', async () => {
  const file = await aFile(node, someBytes(100))
  const files = [
    { path: 'a', file },
    { path: 'b', file: UNKNOWN },
  ]

  const one = await create({ name: 'unknown', action: exec(UNKNOWN) })
  const other = await create({ name: 'unknown', action: exec(file, { files }) })
  const bulk = await node.request('POST', '/v1/tasks/bulk', {
    tasks: [
      { name: 'unknown', action: exec(file) },
      { name: 'unknown', action: exec(UNKNOWN) },
    ],
  })

  expect(one).toMatchObject({ status: 422, body: { errors: [{ pointer: '/action/file' }] } })
  expect(other).toMatchObject({ status: 422, body: { errors: [{ pointer: '/action/files/1/file' }] } })
  expect(bulk).toMatchObject({ status: 422, body: { errors: [{ pointer: '/tasks/1/action/file' }] } })
  expect((await node.request('GET', '/v1/tasks?q=unknown')).body.items).toEqual([])
})

test('a task waits for its file, names it as the reason, and is due at once when it arrives', async () => {
  const { id, file, created } = await aWait({ name: 'as soon as it is there' })

  const before = await why(id)
  await upload(file)

  const waiting = {
    state: 'paused',
    nextFireAt: null,
    pauseReason: 'Waiting for the upload of backup.sh',
    pausedAt: created.createdAt,
  }
  expect(created).toMatchObject(waiting)
  expect(before).toMatchObject({ code: 'file_missing', facts: { files: [file.id] } })
  expect(before.sentence).toContain('backup.sh')
  const [row, ...others] = await agendaOf(db, id)
  expect(others).toEqual([])
  expect(row).toMatchObject({ state: 'scheduled', kind: 'occurrence', ordinal: 1 })
  expect(row?.scheduledFor).toBe(Date.parse(created.createdAt))
  expect(await historyOf(db, id)).toEqual([])
  expect(await shown(id)).toMatchObject({ state: 'scheduled', pausedAt: null, pauseReason: null })
})

test('a task created paused stays paused when its file arrives, and waits for it if resumed earlier', async () => {
  const [early, late] = [await aWait({ paused: true }), await aWait({ paused: true })]

  await upload(early.file)
  const stillPaused = await shown(early.id)
  const resumed = await act(late.id, 'resume')
  await upload(late.file)

  expect(early.created).toMatchObject({ state: 'paused', pauseReason: null })
  expect(stillPaused).toMatchObject({ state: 'paused', pauseReason: null })
  expect(resumed.body).toMatchObject({ state: 'paused', pauseReason: 'Waiting for the upload of backup.sh' })
  const scheduledFor = Date.parse(late.created.createdAt)
  expect(await agendaOf(db, late.id)).toMatchObject([{ state: 'scheduled', ordinal: 1, scheduledFor }])
  expect(await historyOf(db, late.id)).toEqual([])
})

test('the time that a task waits for its file is not lateness', async () => {
  const { id, file } = await aWait({ schedule: { type: 'once', at: iso(Date.now() - 5 * MINUTE) } })

  await upload(file)

  const [row] = await db.run(sql<{ lateMs: number }>`
    select extract(epoch from clock_timestamp() - wake_at)::float8 * 1000 as "lateMs" from agenda where task_id = ${id}`)
  expect(row?.lateMs).toBeLessThan(MINUTE)
})

test('a one-off in the future keeps its instant', async () => {
  const at = iso(Date.now() + 60 * MINUTE)
  const { id, file } = await aWait({ schedule: { type: 'once', at } })

  await upload(file)

  expect(await shown(id)).toMatchObject({ state: 'scheduled', nextFireAt: at })
})

test('occurrences due before the file arrives are skipped, and the task continues with the next one', async () => {
  const anchor = Date.now() - 60 * MINUTE
  const schedule = { type: 'every', interval: '1s', anchor: iso(anchor) }
  const { id, file } = await aWait({ schedule, maxRuns: 10 })
  const since = Date.now() - 10 * MINUTE
  await movePause(db, id, since)

  await upload(file)

  const first = since + 1_000 - ((since - anchor) % 1_000)
  const [skip, ...others] = await historyOf(db, id)
  expect(others).toEqual([])
  expect(skip).toMatchObject({ state: 'skipped', reason: 'file_missing', scheduledFor: first, ordinal: 1 })
  expect(skip?.count).toBe(((skip?.until ?? 0) - first) / 1_000 + 1)
  expect(Date.parse((await shown(id)).nextFireAt)).toBe((skip?.until ?? 0) + 1_000)
  expect((await node.request('GET', `/v1/tasks/${id}/ledger`)).body).toMatchObject({ isInOrder: true })
})

test('a chain whose end passes before the file arrives is finished, and the file is stored', async () => {
  const { id, file } = await aWait({
    ...{ schedule: { type: 'delay', interval: '1s' }, endAt: iso(Date.now() + MINUTE) },
  })
  await movePause(db, id, Date.now() - 10 * MINUTE)
  await db.run(sql`
    update task set created_at = now() - interval '10 minutes',
      definition = (definition::jsonb || ${JSON.stringify({ endAt: iso(Date.now() - MINUTE) })}::jsonb)::json
    where id = ${id}`)

  await upload(file)

  const { body } = await node.request('GET', `/v1/files/${file.id}`)
  expect(body.readyAt).not.toBeNull()
  expect(await shown(id)).toMatchObject({ state: 'finished', pausedAt: null })
  expect(await historyOf(db, id)).toMatchObject([{ state: 'skipped', reason: 'file_missing', count: 1 }])
  expect((await node.request('GET', `/v1/tasks/${id}/ledger`)).body).toMatchObject({ isInOrder: true })
})

test('a task waits for every file that it names', async () => {
  const data = await aWaitingFile(node, { name: 'data.csv' })
  const { id, file } = await aWait({ schedule: HOURLY }, { files: [{ path: 'data.csv', file: data.id }] })

  await upload(file)
  const between = await shown(id)
  await upload(data)

  expect(between).toMatchObject({ state: 'paused' })
  expect((await shown(id)).state).toBe('scheduled')
})

test('a task that waits for its file cannot be triggered, backfilled or resumed', async () => {
  const { id, file } = await aWait({ schedule: HOURLY })

  const refusals = [
    await act(id, 'trigger'),
    await act(id, 'resume'),
    await act(id, 'backfill', { from: iso(Date.now() - 86_400_000), to: iso(Date.now()) }),
  ]

  for (const refusal of refusals)
    expect(refusal).toMatchObject({ status: 409, body: { code: 'file_waiting', fileId: file.id } })
  expect(await agendaOf(db, id)).toEqual([])
})

test('a user can pause a waiting task, which then needs both the file and the user to continue', async () => {
  const { id, file } = await aWait({ schedule: HOURLY })
  const paused = (await act(id, 'pause', { reason: 'a holiday' })).body

  const early = (await act(id, 'resume')).body
  await act(id, 'pause')
  await upload(file)
  const still = await shown(id)
  const resumed = (await act(id, 'resume')).body

  expect(paused).toMatchObject({ state: 'paused', pauseReason: 'a holiday' })
  expect(early).toMatchObject({ state: 'paused', pauseReason: 'Waiting for the upload of backup.sh' })
  expect(still).toMatchObject({ state: 'paused', pauseReason: null })
  expect(resumed).toMatchObject({ state: 'scheduled', pauseReason: null })
})

test('a one-off that is paused after its instant has passed is recorded as skipped', async () => {
  const { id, file, created } = await aWait()

  await act(id, 'pause')
  await upload(file)
  await act(id, 'resume')

  expect(await historyOf(db, id)).toMatchObject([
    { state: 'skipped', reason: 'file_missing', scheduledFor: Date.parse(created.createdAt), count: 1 },
  ])
  expect((await shown(id)).state).toBe('finished')
})

/** Lets a task have been made two hours earlier, and its instant with it. */
async function madeEarlier(id: string, at: string): Promise<void> {
  await db.run(sql`
    with noted as (update task_pause set paused_at = paused_at - interval '2 hours' where task_id = ${id})
    update task set created_at = created_at - interval '2 hours', paused_at = paused_at - interval '2 hours', updated_at = updated_at - interval '2 hours',
      definition = replace(definition::text, ${at}, ${iso(Date.parse(at) - 120 * MINUTE)})::json
    where id = ${id}`)
}
const deleteHistory = (id: string) => db.run(sql`delete from run where task_id = ${id}`)

test('a one-off whose instant has passed in a pause does not run when its file arrives', async () => {
  const at = iso(Date.now() + 60 * MINUTE)
  const { id, file } = await aWait({ paused: true, schedule: { type: 'once', at } })
  await madeEarlier(id, at)

  const resumed = await act(id, 'resume')
  const skipped = await historyOf(db, id)
  await deleteHistory(id)
  await edit(id, { priority: 3 })
  await upload(file)

  expect(resumed.body).toMatchObject({ state: 'paused', pauseReason: 'Waiting for the upload of backup.sh' })
  expect(skipped).toMatchObject([{ state: 'skipped', reason: 'paused' }])
  expect((await shown(id)).state).toBe('finished')
  expect(await agendaOf(db, id)).toEqual([])
})

test('a one-off that is over does not run when a file arrives that an edit has named', async () => {
  const { id, file } = await aWait({ schedule: { type: 'once', at: iso(Date.now() - 60 * MINUTE) } })
  await upload(file)
  await db.run(sql`
    with ended as (delete from agenda where task_id = ${id} returning *)
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state)
    select run_id, task_id, project_id, scheduled_for, now(), version, ordinal, kind, 'completed' from ended`)
  const next = await aWaitingFile(node, { name: 'next.sh' })

  const edited = await edit(id, { action: exec(next.id) })
  await deleteHistory(id)
  await upload(next)

  expect(edited.body.state).toBe('paused')
  expect((await shown(id)).state).toBe('finished')
  expect(await agendaOf(db, id)).toEqual([])
})

test('an instant that was skipped is over even if an edit gives it back to a task that waits', async () => {
  const at = iso(Date.now() - 60 * MINUTE)
  const { id, file } = await aWait({ schedule: { type: 'once', at } })
  await edit(id, { schedule: HOURLY })
  const skipped = await historyOf(db, id)
  await deleteHistory(id)

  await edit(id, { schedule: { type: 'once', at } })
  await upload(file)

  expect(skipped).toMatchObject([{ reason: 'file_missing', scheduledFor: Date.parse(at) }])
  expect((await shown(id)).state).toBe('finished')
  expect(await agendaOf(db, id)).toEqual([])
})

test('a waiting task continues after an edit to a ready file, and waits on after one to a missing file', async () => {
  const { id } = await aWait({ name: 'edited' })
  const other = await aWaitingFile(node, { name: 'restore.sh' })
  const ready = await aFile(node, someBytes(100))

  const waiting = (await edit(id, { action: exec(other.id) })).body
  const going = (await edit(id, { action: exec(ready) })).body

  expect(waiting).toMatchObject({
    state: 'paused',
    pauseReason: 'Waiting for the upload of restore.sh',
    version: 2,
  })
  expect(going).toMatchObject({ state: 'scheduled', version: 3 })
  expect(await agendaOf(db, id)).toMatchObject([{ version: 3, state: 'scheduled' }])
  expect(await historyOf(db, id)).toEqual([])
})

test('a task waits after an edit to a file that is not uploaded', async () => {
  const ready = await aFile(node, someBytes(100))
  const task = (await create({ action: exec(ready), schedule: HOURLY })).body
  const next = await aWaitingFile(node, { name: 'next.sh' })

  const waiting = (await edit(task.id, { action: exec(next.id) })).body
  const rows = await agendaOf(db, task.id)
  await upload(next)

  expect(waiting).toMatchObject({ state: 'paused', pauseReason: 'Waiting for the upload of next.sh' })
  expect(rows).toEqual([])
  expect(await shown(task.id)).toMatchObject({ state: 'scheduled', nextFireAt: task.nextFireAt, version: 2 })
})

test('a file that an earlier version named can be deleted, and that version can then not be restored', async () => {
  const [first, second] = [await aFile(node, someBytes(100)), await aFile(node, someBytes(101))]
  const { id } = (await create({ action: exec(first), schedule: HOURLY })).body
  await edit(id, { action: exec(second) })

  const deleted = await node.request('DELETE', `/v1/files/${first}`)
  const restored = await act(id, 'rollback', { version: 1 })

  expect(deleted.status).toBe(204)
  expect(restored).toMatchObject({ status: 422, body: { errors: [{ pointer: '/version' }] } })
  expect(restored.body.detail).toContain('which is not a file of this project')
})

test('the file of a waiting task can be deleted only after the task', async () => {
  const { id, file } = await aWait({ schedule: HOURLY })

  const refused = await node.request('DELETE', `/v1/files/${file.id}`)
  await node.request('DELETE', `/v1/tasks/${id}`)
  const deleted = await node.request('DELETE', `/v1/files/${file.id}`)

  expect([refused.status, deleted.status]).toEqual([409, 204])
})

test('all of many tasks that wait for one file continue when it arrives', async () => {
  const file = await aWaitingFile(node)
  const tasks = Array.from({ length: 250 }, () => ({
    action: exec(file.id),
    schedule: HOURLY,
    tags: ['many'],
  }))
  await node.request('POST', '/v1/tasks/bulk', { tasks })

  await upload(file)
  const count = async () =>
    (await db.run(sql`select id from task where awaits_files and paused_at is not null and tags @> '{many}'`))
      .length
  const left = await count()
  await waits.runOnce()
  await waits.runOnce()

  expect(left).toBe(150)
  expect(await count()).toBe(0)
})

test('a task that cannot be resumed fails no upload and does not keep others waiting', async () => {
  const bad = await aWait()
  const good = (await create({ action: exec(bad.file.id) })).body
  await db.run({
    text: `create function refuse_row() returns trigger language plpgsql as $$ begin raise exception 'no such row'; end $$;
           create trigger refuse_row before insert on agenda for each row when (new.task_id = '${bad.id}') execute function refuse_row()`,
    values: [],
  })

  const uploaded = await upload(bad.file)
  await waits.runOnce()
  const whileRefused = await shown(bad.id)
  const reports = await db.run(sql`
    select operation, error from refused_row where task_id = ${bad.id} and settled_at is null`)
  await db.run({ text: 'drop trigger refuse_row on agenda', values: [] })
  await eventually(async () => {
    await waits.runOnce()
    return (await shown(bad.id)).state === 'scheduled'
  })

  expect(uploaded).toMatchObject({ status: 200, body: { state: 'ready' } })
  expect(whileRefused).toMatchObject({ state: 'paused' })
  expect(await shown(good.id)).toMatchObject({ state: 'scheduled' })
  expect(reports).toEqual([{ operation: 'duty', error: 'no such row' }])
})

test('concurrent uploads, edits and pauses leave no task waiting for a file that is ready', async () => {
  for (let i = 0; i < 10; i++) {
    const { id, file } = await aWait({ schedule: HOURLY })

    const answers = await Promise.all([
      upload(file),
      edit(id, { name: `edited ${i}` }),
      edit(id, { action: exec(file.id, { args: [String(i)] }) }),
      act(id, 'pause'),
      act(id, 'resume'),
      create({ action: exec(file.id), schedule: HOURLY, name: `made ${i}` }),
    ])

    expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([])
    const made = answers.at(-1)?.body.id
    await waits.runOnce()
    expect(
      (await db.run(sql`select id from task where awaits_files and id = any(${[id, made]}::uuid[])`)).length,
    ).toBe(0)
    for (const taskId of [id, made]) {
      await act(taskId, 'resume')
      expect(await shown(taskId)).toMatchObject({ state: 'scheduled' })
      expect(await agendaOf(db, taskId)).toHaveLength(1)
    }
  }
})

test('a repeated request gets the same answer, also for a waiting task', async () => {
  const file = await aWaitingFile(node)
  const headers = { 'idempotency-key': 'wait-once' }
  const task = { action: exec(file.id) }

  const first = await node.request('POST', '/v1/tasks', task, headers)
  const second = await node.request('POST', '/v1/tasks', task, headers)

  expect(second.body).toEqual(first.body)
  expect(first.body.state).toBe('paused')
})
