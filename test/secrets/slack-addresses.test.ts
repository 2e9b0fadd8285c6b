/** Slack addresses: their tokens are stored as secrets, those of new tasks at once and those that were stored in clear afterwards. */
import { expect, test } from 'vitest'
import { AddressSealer } from '../../src/maintenance/address-sealer.ts'
import { MAX_SECRETS } from '../../src/operations/secrets/secrets.ts'
import { sql } from '../../src/store/database/sql.ts'
import { tasksWithPlainAddress } from '../../src/store/tasks/plain-addresses.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { createTestApp, storedIn } from '../api/test-app.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { planOf } from '../support/plan.ts'

const BASE = 'https://hooks.slack.com/services/T0/B0'
const STORED = /^https:\/\/hooks\.slack\.com\/services\/T0\/B0\/\{\{secret\.(SLACK_[0-9A-F]{16})\}\}$/
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000'

const { db } = await createTestDatabase()
const { send, context } = await createTestApp({ db })

let count = 0
/** A token that no other test has. */
const aToken = () => `canaryToken${String(++count).padStart(13, '0')}`
const task = (token: string, fields: object = {}) => ({
  action: { type: 'slack', url: `${BASE}/${token}`, text: 'hello' },
  schedule: { type: 'manual' },
  ...fields,
})
const nameIn = (url: string): string => STORED.exec(url)?.[1] ?? `no reference in ${url}`
const isStored = async (text: string): Promise<boolean> => {
  const [row] = await db.run(sql<{ text: string }>`
    select concat((select string_agg(t::text, ' ') from task t), (select string_agg(v::text, ' ') from task_version v),
                  (select string_agg(i::text, ' ') from idempotency i), (select string_agg(e::text, ' ') from audit_entry e)) as text`)
  return row?.text.includes(text) === true
}
const secrets = async () =>
  (await db.run(sql<{ name: string }>`select name from secret order by name`)).map(({ name }) => name)
/** A node that keeps addresses from being stored as secrets as long as it lives. */
async function withNode(values: { version: string; secrets: string | null }, work: () => Promise<void>) {
  const [row] = await db.run(sql<{ id: string }>`
    insert into node (id, name, version, roles, secrets)
    values (gen_random_uuid(), 'other', ${values.version}, '{worker}', ${values.secrets}) returning id`)
  // What is known of nodes holds for a second.
  await eventually(async () => {
    const { body } = await send('POST', '/v1/tasks', task(aToken()))
    return body.action.url.endsWith('••••••')
  })
  await work()
  await db.run(sql`update node set dead_at = now(), reason = 'stopped' where id = ${row?.id ?? null}`)
}

test('the token of a Slack address becomes a secret of the project and is stored nowhere else', async () => {
  const token = aToken()
  const repeat = { 'idempotency-key': 'once' }

  const made = await send('POST', '/v1/tasks', task(token, { name: 'notice' }), repeat)
  const again = await send('POST', '/v1/tasks', task(token, { name: 'notice' }), repeat)

  expect([made.status, again.status]).toEqual([201, 201])
  expect(again.text).toBe(made.text)
  const name = nameIn(made.body.action.url)
  const secret = await send('GET', `/v1/secrets/${name}`)
  expect(secret.body).toMatchObject({ name, version: 1, usedBy: [{ id: made.body.id, name: 'notice' }] })
  expect(await isStored(token)).toBe(false)
  expect(made.text).not.toContain(token)
  const { items } = (await send('GET', `/v1/audit-log?subject=${name}`)).body
  expect(items).toMatchObject([{ action: 'secret.set', after: { version: 1 } }])
  expect((await send('DELETE', `/v1/secrets/${name}`)).body.code).toBe('secret_in_use')
})

test('deploying a task again with the same Slack address changes nothing', async () => {
  const [token, other] = [aToken(), aToken()]
  const put = (body: object) => send('PUT', '/v1/tasks/by-key/deployed', body)
  const first = (await put(task(token))).body
  const before = await secrets()

  const repeated = (await put(task(token))).body
  const sentBack = (await send('PATCH', `/v1/tasks/${first.id}`, { action: first.action })).body
  const bulk = await send('POST', '/v1/tasks/bulk', { tasks: [task(token), task(token)] })
  const unchanged = await secrets()
  const edited = (await send('PATCH', `/v1/tasks/${first.id}`, { action: task(other).action })).body

  expect([repeated.version, sentBack.version, edited.version]).toEqual([1, 1, 2])
  expect(bulk.body.items.map(({ action }: { action: object }) => action)).toEqual([
    first.action,
    first.action,
  ])
  expect(unchanged).toEqual(before)
  expect(nameIn(edited.action.url)).not.toBe(nameIn(first.action.url))
  const { changes } = (await send('GET', `/v1/tasks/${first.id}/versions/2`)).body
  expect(changes).toMatchObject([{ field: 'action.url', before: first.action.url, after: edited.action.url }])
  expect([await isStored(token), await isStored(other)]).toEqual([false, false])
})

test('a deleted secret is stored again when its Slack address is given again', async () => {
  const token = aToken()
  const { body } = await send('PUT', '/v1/tasks/by-key/again', task(token))
  const name = nameIn(body.action.url)
  expect((await send('DELETE', `/v1/secrets/${name}?force=true`)).status).toBe(204)

  const repeated = await send('PUT', '/v1/tasks/by-key/again', task(token))

  expect(repeated.body.version).toBe(1)
  expect((await send('GET', `/v1/secrets/${name}`)).body.version).toBe(2)
})

test('the secret of a Slack token accepts no other value', async () => {
  const token = aToken()
  const name = nameIn((await send('POST', '/v1/tasks', task(token))).body.action.url)

  const other = await send('PUT', `/v1/secrets/${name}`, { value: 'another value' })
  const same = await send('PUT', `/v1/secrets/${name}`, { value: token })

  expect(other).toMatchObject({ status: 422, body: { errors: [{ pointer: '/value' }] } })
  expect(same.status).toBe(200)
})

test('a refused task leaves no secret behind', async () => {
  await send('POST', '/v1/tasks', task(aToken(), { key: 'taken' }))
  const { body: edited } = await send('POST', '/v1/tasks', task(aToken()))
  const before = await storedIn(db)

  const refused = await Promise.all([
    send('POST', '/v1/tasks', task(aToken(), { key: 'taken' })),
    send('POST', '/v1/tasks/bulk', { tasks: [task(aToken()), task(aToken(), { key: 'taken' })] }),
    send('PATCH', `/v1/tasks/${edited.id}`, { ...task(aToken()), key: 'taken' }),
    send('PATCH', `/v1/tasks/${edited.id}`, task(aToken()), { 'if-match': '"7"' }),
  ])

  expect(refused.map(({ status }) => status)).toEqual([409, 409, 409, 412])
  expect(await storedIn(db)).toBe(before)
})

test('concurrent requests with one new Slack address create one secret', async () => {
  const token = aToken()
  const before = await secrets()

  const made = await Promise.all(Array.from({ length: 20 }, () => send('POST', '/v1/tasks', task(token))))

  expect(made.map(({ status }) => status)).toEqual(Array(20).fill(201))
  const [name = ''] = new Set(made.map(({ body }) => nameIn(body.action.url)))
  expect((await secrets()).filter((each) => !before.includes(each))).toEqual([name])
  expect((await send('GET', `/v1/secrets/${name}`)).body).toMatchObject({ version: 1 })
})

test('a request with more Slack addresses than the project has room for secrets is refused as a whole', async () => {
  const room = MAX_SECRETS - (await secrets()).length
  const tasks = Array.from({ length: room + 1 }, () => task(aToken()))
  const before = await storedIn(db)

  const beyond = await send('POST', '/v1/tasks/bulk', { tasks })
  const farBeyond = await send('POST', '/v1/tasks/bulk', {
    tasks: Array.from({ length: MAX_SECRETS + 1 }, () => task(aToken())),
  })

  for (const { status, body } of [beyond, farBeyond])
    expect([status, body.code]).toEqual([409, 'too_many_stored_secrets'])
  expect(await storedIn(db)).toBe(before)
})

test('plaintext Slack addresses become secrets once every node can read them, without a new version', async () => {
  const [token, earlier] = [aToken(), aToken()]
  const [sealer, another] = [1, 2].map(() => new AddressSealer({ facilities: context, log: silentLogger() }))
  const plainTasks = () => db.run(tasksWithPlainAddress({ after: BEFORE_ALL, limit: 100 }))
  let id = ''
  await withNode({ version: '0.1.0', secrets: null }, async () => {
    const scheduled = { schedule: { type: 'every', interval: '1h' }, metadata: { long: 'x'.repeat(5_000) } }
    id = (await send('POST', '/v1/tasks', { ...task(earlier), ...scheduled })).body.id
    await send('PATCH', `/v1/tasks/${id}`, { action: task(token).action })
    await send('PATCH', `/v1/tasks/${id}`, { name: 'third' })
    // The release before stored large definitions without telling them in brief.
    await db.run(sql`update task set brief = null where id = ${id}`)
    await db.run(sql`update task_version set brief = null where task_id = ${id}`)
    await sealer?.runOnce()
    expect([await isStored(token), await isStored(earlier)]).toEqual([true, true])
  })
  const before = (await send('GET', `/v1/tasks/${id}`)).body

  await eventually(async () => {
    await Promise.all([sealer?.runOnce(), another?.runOnce()])
    return (await plainTasks()).length === 0
  })

  expect([await isStored(token), await isStored(earlier)]).toEqual([false, false])
  const after = (await send('GET', `/v1/tasks/${id}`)).body
  const name = nameIn(after.action.url)
  expect(after).toEqual(JSON.parse(JSON.stringify(before).replaceAll(before.action.url, after.action.url)))
  expect(after.version).toBe(3)
  const versions = await Promise.all([1, 2, 3].map((n) => send('GET', `/v1/tasks/${id}/versions/${n}`)))
  const names = versions.map(({ body }) => nameIn(body.definition.action.url))
  expect(names).toEqual([expect.stringMatching(/^SLACK_/), name, name])
  expect((await send('GET', `/v1/secrets/${name}`)).body.usedBy).toMatchObject([{ id }])
  const [lane] = await db.run(sql<{ labels: string[] }>`
    select l.labels from agenda a join lane l on l.id = a.lane where a.task_id = ${id}`)
  expect(lane?.labels).toContain('belfry:secrets')
  expect((await send('PATCH', `/v1/tasks/${id}`, { action: task(token).action })).body.version).toBe(3)
  const [entry] = (await send('GET', `/v1/audit-log?subject=${name}`)).body.items
  expect(entry).toMatchObject({ action: 'secret.set', actor: { kind: 'system' } })
})

test('deploying while a node has no key changes nothing, before and after the address becomes a secret', async () => {
  const token = aToken()
  const put = async () => (await send('PUT', '/v1/tasks/by-key/between', task(token))).body
  await withNode({ version: '0.2.0', secrets: 'no_key' }, async () => {
    expect((await put()).action.url).toBe('https://hooks.slack.com/••••••')
    expect((await put()).version).toBe(1)
  })
  const sealer = new AddressSealer({ facilities: context, log: silentLogger() })
  const moved = await eventually(async () => {
    await sealer.runOnce()
    const { body } = await send('GET', '/v1/tasks/by-key/between')
    return STORED.test(body.action.url) && body
  })

  expect(moved.version).toBe(1)
  expect(await put()).toEqual(moved)
})

test('a project with no room for secrets keeps its addresses masked, and those of others become secrets', async () => {
  const { db } = await createTestDatabase()
  const { send, context } = await createTestApp({ db })
  await send('POST', '/v1/projects', { name: 'full' })
  const inFull = { 'belfry-project': 'full' }
  await db.run(
    sql`insert into node (id, name, version, roles) values (gen_random_uuid(), 'old', '0.1.0', '{worker}')`,
  )
  const full = (await send('POST', '/v1/tasks', task(aToken()), inFull)).body
  const other = (await send('POST', '/v1/tasks', task(aToken()))).body
  await db.run(sql`
    insert into secret (project_id, name) select id, 'S' || n from project, generate_series(1, ${MAX_SECRETS}) n where name = 'full'`)
  await db.run(sql`update node set dead_at = now(), reason = 'stopped'`)
  const sealer = new AddressSealer({ facilities: context, log: silentLogger() })

  const moved = await eventually(async () => {
    await sealer.runOnce()
    const { body } = await send('GET', `/v1/tasks/${other.id}`)
    return STORED.test(body.action.url) && body
  })

  expect(moved.version).toBe(1)
  expect((await send('GET', `/v1/tasks/${full.id}`, undefined, inFull)).body.action.url).toMatch(/••••••$/)
})

test('the search for plaintext Slack addresses does not read addresses without tokens', async () => {
  const { db } = await createTestDatabase()
  const { send } = await createTestApp({ db })
  await send('POST', '/v1/tasks/bulk', { tasks: Array.from({ length: 500 }, () => task('short')) })
  await db.run(sql`analyze task`)

  const plan = await planOf(db, tasksWithPlainAddress({ after: BEFORE_ALL, limit: 100 }))

  expect(plan).toMatchObject({ tablesRead: [], rows: 0 })
})
