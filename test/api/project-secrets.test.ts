/** Secrets of a project: written and never read, and which tasks use them. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { MAX_EXAMINED_USES } from '../../src/store/tasks/living-users.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp, storedIn } from './test-app.ts'

const VALUE = 'canary-9c1e-value'
const { db } = await createTestDatabase()
const { send } = await createTestApp({ db })
const task = (fields: object = {}) => ({
  action: {
    type: 'webhook',
    url: 'https://example.com/{{secret.IN_URL}}',
    body: { k: '{{secret.IN_BODY}}' },
  },
  schedule: { type: 'manual' },
  ...fields,
})
const usersOf = async (name: string) =>
  (await send('GET', `/v1/secrets/${name}`)).body.usedBy.map(({ id }: { id: string }) => id)

test('a secret can be written, listed and deleted, and its value is never shown', async () => {
  const made = await send('PUT', '/v1/secrets/TOKEN', { value: VALUE })
  const again = await send('PUT', '/v1/secrets/TOKEN', { value: `${VALUE}-2` })

  expect(made).toMatchObject({ status: 201, body: { name: 'TOKEN', version: 1 } })
  expect(again).toMatchObject({
    status: 200,
    body: { name: 'TOKEN', version: 2, createdAt: made.body.createdAt },
  })
  const list = await send('GET', '/v1/secrets')
  expect(list.body).toEqual({ items: [again.body], nextCursor: null })
  const shown = await send('GET', '/v1/secrets/TOKEN')
  expect(shown.body).toEqual({ ...again.body, usedBy: [], isInMail: false, hasMoreUsers: false })
  for (const { text } of [made, again, list, shown]) expect(text).not.toContain('canary')
  const [dump] = await db.run(sql<{ text: string }>`
    select string_agg(s::text || encode(s.value, 'escape'), ' ') as text from secret_version s`)
  expect(dump?.text).not.toContain('canary')
  expect(await send('DELETE', '/v1/secrets/TOKEN')).toMatchObject({ status: 204 })
  expect(await send('GET', '/v1/secrets/TOKEN')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(await send('DELETE', '/v1/secrets/TOKEN')).toMatchObject({ status: 404 })
})

test('secrets are listed page by page, by name', async () => {
  for (const name of ['P1', 'P2', 'P3']) await send('PUT', `/v1/secrets/${name}`, { value: VALUE })

  const first = (await send('GET', '/v1/secrets?limit=2')).body
  const second = (await send('GET', `/v1/secrets?limit=2&cursor=${first.nextCursor}`)).body

  expect([...first.items, ...second.items].map(({ name }: { name: string }) => name)).toEqual([
    'P1',
    'P2',
    'P3',
  ])
  expect(second.nextCursor).toBeNull()
})

test.each([
  ['PUT', '/v1/secrets/1TOKEN', { value: VALUE }, '{name}'],
  ['PUT', '/v1/secrets/a.b', { value: VALUE }, '{name}'],
  ['PUT', '/v1/secrets/EMPTY', { value: '' }, '/value'],
  ['PUT', '/v1/secrets/LONG', { value: 'x'.repeat(32_769) }, '/value'],
  ['PUT', '/v1/secrets/HALF', { value: '\ud800' }, '/value'],
  ['PUT', '/v1/secrets/MORE', { value: VALUE, more: 1 }, '/more'],
  ['GET', '/v1/secrets?cursor=x', undefined, '?cursor'],
  ['POST', '/v1/tasks', task({ action: { type: 'ping', url: 'https://{{secret.HOST}}/' } }), '/action/url'],
  [
    'POST',
    '/v1/tasks',
    task({ action: { type: 'slack', url: '{{secret.SLACK}}', text: 'x' } }),
    '/action/url',
  ],
])('%s %s is refused and stores nothing: %#', async (method, path, body, pointer) => {
  const before = await storedIn(db)

  const { status, body: problem, text } = await send(method, path, body)

  expect(status).toBe(422)
  expect(problem.errors[0].pointer).toBe(pointer)
  expect(text).not.toContain('canary')
  expect(await storedIn(db)).toBe(before)
})

test('a secret lists the tasks that use it, also after edits, rollbacks and deletions', async () => {
  await send('PUT', '/v1/secrets/IN_URL', { value: VALUE })
  await send('PUT', '/v1/secrets/IN_BODY', { value: VALUE })
  const { id } = (await send('POST', '/v1/tasks', task({ key: 'user', name: 'the user' }))).body
  const bulk = (
    await send('POST', '/v1/tasks/bulk', { tasks: [task(), { action: { type: 'sleep', duration: '0s' } }] })
  ).body
  const other = bulk.items[0].id

  expect(await usersOf('IN_URL')).toEqual([other, id])
  expect(await usersOf('IN_BODY')).toEqual([other, id])
  const refused = await send('DELETE', '/v1/secrets/IN_URL')
  expect(refused).toMatchObject({ status: 409, body: { code: 'secret_in_use', taskIds: [other, id] } })
  expect(refused.body.detail).toContain('the user')
  await send('PATCH', `/v1/tasks/${id}`, {
    action: { type: 'ping', url: 'https://example.com/{{secret.IN_URL}}' },
  })
  expect(await usersOf('IN_BODY')).toEqual([other])
  await send('POST', `/v1/tasks/${id}/rollback`, { version: 1 })
  expect(await usersOf('IN_BODY')).toEqual([other, id])
  await send('PUT', '/v1/tasks/by-key/user', {
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'manual' },
  })
  expect(await usersOf('IN_BODY')).toEqual([other])
  await send('DELETE', `/v1/tasks/${other}`)
  expect(await usersOf('IN_BODY')).toEqual([])
  expect((await send('DELETE', '/v1/secrets/IN_URL')).status).toBe(204)
  expect((await send('POST', '/v1/tasks', task())).status).toBe(201)
  expect((await send('DELETE', '/v1/secrets/IN_BODY?force=true')).status).toBe(204)
})

test('answers show references as they are, in headers and Slack addresses too', async () => {
  const headers = { authorization: 'Bearer {{secret.T}}', 'x-api-key': 'plain {{secret.T}}' }
  const http = { type: 'http', url: 'https://example.com/', method: 'GET', headers }
  const slack = { type: 'slack', url: 'https://hooks.slack.com/services/{{secret.SLACK}}', text: 'x' }

  const [one, two] = await Promise.all(
    [http, slack].map((action) => send('POST', '/v1/tasks', task({ action }))),
  )

  expect(one?.body.action.headers).toEqual({ authorization: 'Bearer {{secret.T}}', 'x-api-key': '••••••' })
  expect(two?.body.action.url).toBe(slack.url)
})

test('a trigger cannot make a run use secrets that its task does not use', async () => {
  const { id } = (await send('POST', '/v1/tasks', task())).body

  const refused = await send('POST', `/v1/tasks/${id}/trigger`, { action: { body: '{{secret.OTHER}}' } })
  const allowed = await send('POST', `/v1/tasks/${id}/trigger`, { action: { body: '{{secret.IN_BODY}}' } })

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/action/body' }] } })
  expect(allowed.status).toBe(201)
})

test('secrets cannot be stored while a node of an older release is alive, and no such node can start later', async () => {
  const { db } = await createTestDatabase()
  const { send } = await createTestApp({ db })
  await db.run(
    sql`insert into node (id, name, version, roles) values (gen_random_uuid(), 'old-host/1', '0.1.0', '{worker}')`,
  )

  const refused = await send('PUT', '/v1/secrets/TOKEN', { value: VALUE })
  await db.run(sql`update node set dead_at = now(), reason = 'stopped'`)
  const stored = await send('PUT', '/v1/secrets/TOKEN', { value: VALUE })

  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'older_nodes', detail: expect.stringContaining('old-host/1 (0.1.0)') },
  })
  expect(stored.status).toBe(201)
  const [row] = await db.run(sql<{ oldest: number }>`select oldest_migration as oldest from compatibility`)
  expect(row?.oldest).toBeGreaterThanOrEqual(51)
})

test('a secret is deleted although one search does not find out whether a task still uses it', async () => {
  await send('PUT', '/v1/secrets/OFTEN_USED', { value: VALUE })
  await db.run(sql`
    insert into task (id, project_id, action_type, definition)
    select ('01a00000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, ${DEFAULT_PROJECT_ID}, 'sleep',
           case n % 2 when 1 then '{"schedule":{"type":"manual"}}'::json else '{"schedule":{"type":"once"}}' end
    from generate_series(0, 2 * ${MAX_EXAMINED_USES}::integer + 1) n`)
  await db.run(sql`
    insert into secret_use (project_id, name, task_id)
    select project_id, 'OFTEN_USED', id from task where definition -> 'schedule' ->> 'type' = 'once' and definition ->> 'action' is null`)

  const shown = await send('GET', '/v1/secrets/OFTEN_USED')
  const deleted = await send('DELETE', '/v1/secrets/OFTEN_USED')

  expect(shown.body).toMatchObject({ usedBy: [], hasMoreUsers: true })
  expect(deleted.status).toBe(204)
})
