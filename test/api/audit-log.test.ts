import { expect, test } from 'vitest'
import { INSTALLATION_ID } from '../../src/core/audit-log/audit-entry.ts'
import { frontierAt } from '../../src/core/run/frontier.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { recordChange } from '../../src/operations/audit-log/record-change.ts'
import { listEntries } from '../../src/store/audit-log/audit-log.ts'
import { dropAuditPartitions, ensureAuditPartitions } from '../../src/store/audit-log/audit-partitions.ts'
import { entriesBetween } from '../../src/store/audit-log/followed-entries.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { planOf } from '../support/plan.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { context, send } = await createTestApp({ db })
const ping = { type: 'ping', url: 'http://127.0.0.1:1/' }
const manual = { type: 'manual' }

const entries = async (query = '') => (await send('GET', `/v1/audit-log?${query}`)).body.items

test('a task that is created leaves an entry with actor, address, request and reason', async () => {
  const { body: task, headers } = await send(
    'POST',
    '/v1/tasks',
    { name: 'Report', action: ping, schedule: manual },
    { 'belfry-reason': Buffer.from('Für Jänner').toString('latin1') },
  )

  const [entry] = await entries(`subject=${task.id}`)

  expect(entry).toMatchObject({
    project: { id: DEFAULT_PROJECT_ID, name: 'default' },
    actor: { id: '127.0.0.1' },
    address: '127.0.0.1',
    requestId: headers['x-request-id'],
    action: 'task.create',
    subject: { kind: 'task', id: task.id, name: 'Report' },
    count: 1,
    before: null,
    after: { version: 1 },
    reason: 'Für Jänner',
  })
  expect(Math.abs(Date.parse(entry.at) - Date.now())).toBeLessThan(60_000)
  const { body: shown } = await send('GET', `/v1/audit-log/${entry.id}`)
  expect(shown.changes).toContainEqual({ field: 'name', before: null, after: 'Report', isCut: false })
})

test('a bulk request leaves one entry for each task, in order, and a refused bulk request leaves none', async () => {
  const before = await entries('action=task.create')

  const tasks = ['a', 'b', 'c'].map((name) => ({ name, action: ping, schedule: manual }))
  await send('POST', '/v1/tasks/bulk', { tasks })
  await send('POST', '/v1/tasks/bulk', {
    tasks: [
      { action: ping, key: 'one' },
      { action: ping, key: 'one' },
    ],
  })

  const after = await entries('action=task.create')
  expect(after.length - before.length).toBe(3)
  expect(new Set(after.slice(0, 3).map(({ requestId }: { requestId: string }) => requestId)).size).toBe(1)
  expect(after.slice(0, 3).map(({ subject }: { subject: { name: string } }) => subject.name)).toEqual([
    'c',
    'b',
    'a',
  ])
})

test('a reason that is not UTF-8 or too long is refused, and nothing is stored', async () => {
  const before = await entries()

  const bad = await send('POST', '/v1/tasks', { action: ping }, { 'belfry-reason': '\xff' })
  const long = await send('POST', '/v1/tasks', { action: ping }, { 'belfry-reason': 'x'.repeat(501) })

  expect([bad.status, long.status]).toEqual([422, 422])
  expect(bad.body.errors).toMatchObject([{ pointer: 'belfry-reason' }])
  expect(await entries()).toEqual(before)
})

test('no entry can be changed or deleted', async () => {
  const change = db.run(sql`update audit_entry set reason = 'another'`)
  const removal = db.run(sql`delete from audit_entry`)

  await expect(change).rejects.toThrow('cannot be changed or deleted')
  await expect(removal).rejects.toThrow('cannot be changed or deleted')
})

test('each filter finds its entries page by page, without entries of other projects', async () => {
  const subject = { kind: 'queue', id: 'reports' } as const
  for (const action of ['queue.pause', 'queue.limit', 'queue.resume'] as const)
    await recordChange(db, context, { action, subject, before: { limit: 1 }, after: { limit: 2 } })
  await recordChange(db, context, {
    action: 'key.create',
    subject: { kind: 'key', id: 'k' },
    projectId: null,
  })
  const actionsOf = (found: { action: string }[]) => found.map(({ action }) => action)

  const first = await send('GET', '/v1/audit-log?subject=reports&limit=2')
  const second = await send('GET', `/v1/audit-log?subject=reports&limit=2&cursor=${first.body.nextCursor}`)

  expect(actionsOf(first.body.items)).toEqual(['queue.resume', 'queue.limit'])
  expect(actionsOf(second.body.items)).toEqual(['queue.pause'])
  expect(second.body.nextCursor).toBeNull()
  expect(actionsOf(await entries('action=queue.limit'))).toEqual(['queue.limit'])
  expect(actionsOf(await entries('action=queue.limit&actor=test&subjectKind=queue'))).toEqual(['queue.limit'])
  expect(actionsOf(await entries('scope=installation'))).toEqual(['key.create'])
  expect(actionsOf(await entries('scope=all&limit=2'))).toEqual(['key.create', 'queue.resume'])
  expect(actionsOf(await entries('action=key.create'))).toEqual([])
  const [{ at }] = await entries('action=queue.pause')
  expect(await entries(`subject=reports&to=${at}`)).toEqual([])
  expect(await entries(`subject=reports&from=${at}`)).toHaveLength(3)
  expect(await entries(`subject=reports&from=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([])
})

test('an entry of another project is answered like one that does not exist', async () => {
  await recordChange(db, context, {
    action: 'key.create',
    subject: { kind: 'key', id: 'k' },
    projectId: null,
  })
  const [{ id }] = await entries('scope=installation')

  const [foreign, unknown] = await Promise.all(
    [id, '01900000-0000-7000-8000-000000000000'].map((one) => send('GET', `/v1/audit-log/${one}`)),
  )

  expect(foreign?.status).toBe(404)
  expect(foreign?.body.detail.replace(id, '')).toBe(unknown?.body.detail.replace(/[0-9a-f-]{36}/, ''))
  expect((await send('GET', `/v1/audit-log/${id}?scope=installation`)).status).toBe(200)
})

test('a search past many other entries ends after several pages of bounded size', async () => {
  await db.run(sql`
    insert into audit_entry (id, at, project_id, actor_kind, actor_id, action, subject_kind, subject_id)
    select gen_random_uuid(), now(), ${DEFAULT_PROJECT_ID}, 'key', 'busy', 'task.edit', 'task', n::text from generate_series(1, 25000) n`)
  await recordChange(
    db,
    { ...context, actor: { kind: 'system', part: 'busy' } },
    { action: 'task.pause', subject: { kind: 'task', id: 't' } },
  )

  let [cursor, pages, found] = ['', 0, 0]
  do {
    const { body } = await send('GET', `/v1/audit-log?actor=busy&action=task.pause${cursor}`)
    found += body.items.length
    pages++
    cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`
  } while (cursor !== '')

  expect({ pages, found }).toEqual({ pages: 3, found: 1 })
})

test('every filter uses an index, however many other entries exist', async () => {
  await db.run(sql`
    insert into audit_entry (id, at, project_id, actor_kind, actor_id, action, subject_kind, subject_id)
    select gen_random_uuid(), now() - n * interval '1 second', ${DEFAULT_PROJECT_ID}, 'key', 'busy', 'task.create', 'task', n::text
    from generate_series(1, 100000) n`)
  const asked = { projectId: DEFAULT_PROJECT_ID, limit: 51, maxExamined: 10_000 }
  const now = Date.now() * 1_000
  const [from, to] = [frontierAt(now - 20_000_000), { ...frontierAt(now), xmax: Number.MAX_SAFE_INTEGER }]
  const between = { from, to, fromUs: now - 20_000_000, untilUs: null, after: null, limit: 500, stream: null }

  const listed = [{}, { subject: 'reports' }, { actor: 'test' }, { action: 'key.create' as const }]
  const plans = await Promise.all(
    listed.map((filter) =>
      db.snapshot((tx) => planOf(tx, listEntries({ ...asked, ...filter })), { inOrder: true }),
    ),
  )
  const followed = await db.snapshot((tx) => planOf(tx, entriesBetween(between)))

  for (const plan of plans) expect(plan.rows).toBeLessThanOrEqual(500)
  expect([...plans, followed].flatMap(({ tablesRead }) => tablesRead)).toEqual([])
})

test('partitions are created ahead and dropped once all entries are old; empty ones are kept', async () => {
  const partitions = async () => {
    const rows = await db.run(sql<{ name: string }>`
      select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'audit_entry'::regclass order by 1`)
    return rows.map(({ name }) => name)
  }
  const insert = (at: string) =>
    db.run(sql`
      insert into audit_entry (id, at, project_id, actor_kind, action, subject_kind)
      values (gen_random_uuid(), ${at}, ${INSTALLATION_ID}, 'system', 'task.create', 'task')`)
  const made = await partitions()
  await db.run({ text: `drop table ${made.at(-2)}`, values: [] })

  await Promise.all([db.run(ensureAuditPartitions()), db.run(ensureAuditPartitions())])
  await db.run({
    text: `create table audit_entry_201804 partition of audit_entry for values from ('2018-04-01Z') to ('2018-05-01Z')`,
    values: [],
  })
  await insert('2018-04-05T00:00:00Z')
  await insert('2019-05-05T00:00:00Z')
  await db.run(dropAuditPartitions(10_000))
  const [kept] = await db.run(sql<{ rows: number }>`select count(*)::integer as rows from audit_entry_other`)
  const named = await partitions()
  await db.run(dropAuditPartitions(365))
  const [left] = await db.run(sql<{ rows: number }>`select count(*)::integer as rows from audit_entry_other`)

  expect(made).toHaveLength(5)
  expect(named).toEqual(['audit_entry_201804', ...made])
  expect(await partitions()).toEqual(made)
  expect([kept?.rows, left?.rows]).toEqual([1, 0])
})
