/**
 * Every route that can change something is called once, successfully, and must leave an entry in the audit log with the id of the
 * request. While the audit log takes no entry, the same call must change nothing. The routes are those of the API document: one
 * that is neither called here nor named as an exception fails the test.
 */
import { expect, test } from 'vitest'
import { UNLIMITED } from '../../src/core/access/role.ts'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { storeKey } from '../../src/operations/keys/keys.ts'
import { savePerson } from '../../src/store/access/people.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { operationsOf } from './document.ts'
import { createTestApp, type InjectedAnswer } from './test-app.ts'

const { db } = await createTestDatabase()
const { send: deliver, context } = await createTestApp({ db })
/** What the database held before the latest request. */
let stored = ''
const app = {
  send: async (...request: Parameters<typeof deliver>) => {
    stored = await everything()
    return deliver(...request)
  },
}
const admin = await storeKey(
  context,
  { name: 'admin', role: 'admin', projectId: null, createdBy: null, ...UNLIMITED },
  { areThere: false, canBeMembers: false },
)
const send = (method: string, url: string, body?: unknown) =>
  app.send(method, url, body, { authorization: `Bearer ${admin.key}` })
const READS = ['GET', 'HEAD', 'OPTIONS']

/** Routes that change nothing that a caller decides about, and why. */
const WITHOUT_ENTRY: Readonly<Record<string, string>> = {
  'POST /v1/schedules/preview': 'stores nothing',
  'POST /v1/subscriptions/{id}/test': 'sends one request and stores nothing',
  'POST /retrieve_all_jobs': 'reads',
  'POST /get_exec_history': 'reads',
  'POST /task/status': 'reads',
  'POST /file/status': 'reads',
  'POST /signurl/create': 'signs an address and stores nothing',
  'POST /v1/worker/register': 'the work itself: the list of workers shows it',
  'POST /v1/worker/claim': 'the work itself: history shows it',
  'POST /v1/worker/heartbeat': 'the work itself',
  'POST /v1/worker/log': 'the work itself: the log of the run shows it',
  'POST /v1/worker/complete': 'the work itself: history shows it',
  'POST /v1/worker/return': 'the work itself: history shows it',
  'POST /v1/worker/stop': 'the work itself: the list of workers shows it',
  'POST /health_check': 'the work itself',
  'POST /update_status': 'the work itself: history shows it',
}

/** Changes that take many transactions; each of these leaves a whole, and the entry comes last. */
const STEPWISE: readonly string[] = ['encryption_key.rotate', 'file.upload']

/** A digest of all tables but the audit log, the one that says which builds may use the database, and the counts of requests and tries. */
async function everything(): Promise<string> {
  const [row] = await db.run<{ digest: string }>({ text: await digestText, values: [] })
  return row?.digest ?? ''
}

const digestText = (async () => {
  const tables = await db.run(sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname not in ('audit_entry', 'refused_action', 'compatibility', 'request_quota')
    order by 1`)
  const parts = tables.map(
    ({ name }) => `(select md5(string_agg(t::text, ',' order by t::text)) from "${name}" t)`,
  )
  return `select md5(concat_ws(',', ${parts.map((part) => `coalesce(${part}, '')`).join(', ')})) as digest`
})()

/** The audit log takes no entry of the actions in a table. */
await db.run({
  text: `
    create table refused_action (action text);
    create function refuse_entry() returns trigger language plpgsql as $$
    begin
      if exists (select from refused_action where action = new.action) then raise exception 'no entry is taken'; end if;
      return new;
    end $$;
    create trigger refuse_entry before insert on audit_entry for each row execute function refuse_entry();`,
  values: [],
})

const action = { type: 'ping', url: 'http://127.0.0.1:1/' }
const made = async (answer: Promise<InjectedAnswer>): Promise<string> => (await answer).body.id
const aTask = (fields = {}) =>
  made(send('POST', '/v1/tasks', { action, schedule: { type: 'every', interval: '1h' }, ...fields }))
const aSubscription = () => made(send('POST', '/v1/subscriptions', { url: 'http://127.0.0.1:1/' }))
const aSecret = () => made(send('POST', '/v1/signing-secrets', { origin: 'https://a.example.com' }))
const aFile = () => send('POST', '/v1/files', { name: 'program' })
const aKey = () => made(send('POST', '/v1/keys', A_KEY))
const aMember = (path: string) => made(send('POST', path, { group: `group-${uuidv7()}`, role: 'viewer' }))
/** The cookie of a session, as the browser of the dashboard sends it. */
const aSession = async () => {
  const { headers } = await send('POST', '/auth/sign-in', { key: admin.key })
  const [cookie = ''] = String(headers['set-cookie']).split(';')
  return { cookie, 'sec-fetch-site': 'same-origin' }
}
const aProject = async (name: string) => {
  await send('POST', '/v1/projects', { name })
  return name
}
const aRun = async () => made(send('POST', `/v1/tasks/${await aTask()}/trigger`))
const RANGE = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T03:00:00Z' }
const aDailyTask = () =>
  aTask({ schedule: { type: 'every', interval: '1h', anchor: '2025-01-01T00:00:00Z' } })

async function anEndedRun(): Promise<string> {
  const id = uuidv7()
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, attempt, kind, state, outcome)
    values (${id}, ${await aTask()}, ${DEFAULT_PROJECT_ID}, now(), now(), clock_timestamp(), 1, 1, 1, 'occurrence', 'permanently_failed', 'failed')`)
  return id
}

/** By route: the action that its entry names, and a call that succeeds. */
const CHANGES: Readonly<Record<string, readonly [action: string, call: () => Promise<InjectedAnswer>]>> = {
  'POST /v1/tasks': ['task.create', () => send('POST', '/v1/tasks', { action })],
  'POST /v1/tasks/bulk': ['task.create', () => send('POST', '/v1/tasks/bulk', { tasks: [{ action }] })],
  'POST /submit_job': [
    'task.create',
    () =>
      send('POST', '/submit_job', { user_id: 'ann', schedule: '1h', code_location: 'http://127.0.0.1:1/' }),
  ],
  'POST /tasks': ['task.create', () => send('POST', '/tasks', { command: '1s' })],
  'POST /task/create': ['task.create', () => send('POST', '/task/create', {})],
  'POST /task/update': [
    'task.pause',
    async () => {
      const { id } = (await send('POST', '/task/create', {})).body
      return send('POST', '/task/update', { id, is_producible: false })
    },
  ],
  'POST /delete_job': [
    'task.delete',
    async () => send('POST', '/delete_job', { user_id: 'ann', job_id: await aTask({ owner: 'ann' }) }),
  ],
  'PUT /v1/tasks/by-key/{key}': ['task.create', () => send('PUT', '/v1/tasks/by-key/a-key', { action })],
  'PATCH /v1/tasks/{id}': [
    'task.edit',
    async () => send('PATCH', `/v1/tasks/${await aTask()}`, { name: 'another' }),
  ],
  'DELETE /v1/tasks/{id}': ['task.delete', async () => send('DELETE', `/v1/tasks/${await aTask()}`)],
  'POST /v1/tasks/{id}/pause': ['task.pause', async () => send('POST', `/v1/tasks/${await aTask()}/pause`)],
  'POST /v1/tasks/{id}/resume': [
    'task.resume',
    async () => {
      const id = await aTask()
      await send('POST', `/v1/tasks/${id}/pause`)
      return send('POST', `/v1/tasks/${id}/resume`)
    },
  ],
  'POST /v1/tasks/{id}/skip-next': [
    'task.skip_next',
    async () => send('POST', `/v1/tasks/${await aTask()}/skip-next`, {}),
  ],
  'DELETE /v1/tasks/{id}/skip-next': [
    'task.unskip_next',
    async () => {
      const id = await aTask()
      await send('POST', `/v1/tasks/${id}/skip-next`, {})
      return send('DELETE', `/v1/tasks/${id}/skip-next`)
    },
  ],
  'POST /v1/tasks/{id}/cancel': [
    'task.cancel',
    async () => send('POST', `/v1/tasks/${await aTask()}/cancel`),
  ],
  'POST /v1/tasks/{id}/trigger': [
    'task.trigger',
    async () => send('POST', `/v1/tasks/${await aTask()}/trigger`),
  ],
  'POST /v1/tasks/{id}/rollback': [
    'task.rollback',
    async () => {
      const id = await aTask()
      await send('PATCH', `/v1/tasks/${id}`, { name: 'another' })
      return send('POST', `/v1/tasks/${id}/rollback`, { version: 1 })
    },
  ],
  'POST /v1/tasks/{id}/backfill': [
    'backfill.create',
    async () => send('POST', `/v1/tasks/${await aDailyTask()}/backfill`, RANGE),
  ],
  'POST /v1/backfills/{id}/cancel': [
    'backfill.cancel',
    async () => {
      const id = await made(send('POST', `/v1/tasks/${await aDailyTask()}/backfill`, RANGE))
      return send('POST', `/v1/backfills/${id}/cancel`)
    },
  ],
  'POST /v1/runs/{id}/cancel': ['run.cancel', async () => send('POST', `/v1/runs/${await aRun()}/cancel`)],
  'POST /v1/runs/{id}/retry': ['run.retry', async () => send('POST', `/v1/runs/${await anEndedRun()}/retry`)],
  'POST /v1/dead-letters/dismiss': [
    'dead_letter.dismiss',
    async () => send('POST', '/v1/dead-letters/dismiss', { filter: { runIds: [await anEndedRun()] } }),
  ],
  'POST /v1/dead-letters/redrive': [
    'redrive.create',
    () => send('POST', '/v1/dead-letters/redrive', { filter: {} }),
  ],
  'POST /v1/dead-letters/redrives/{id}/cancel': [
    'redrive.cancel',
    async () => {
      const id = await made(send('POST', '/v1/dead-letters/redrive', { filter: {} }))
      return send('POST', `/v1/dead-letters/redrives/${id}/cancel`)
    },
  ],
  'PATCH /v1/queues/{name}': [
    'queue.limit',
    () => send('PATCH', '/v1/queues/reports', { concurrencyLimit: 2 }),
  ],
  'POST /v1/queues/{name}/pause': ['queue.pause', () => send('POST', '/v1/queues/reports/pause')],
  'POST /v1/queues/{name}/resume': ['queue.resume', () => send('POST', '/v1/queues/reports/resume')],
  'PATCH /v1/targets/{target}': [
    'target.limit',
    () => send('PATCH', '/v1/targets/api.example.com', { limit: 5 }),
  ],
  'POST /v1/targets/{target}/pause': [
    'target.pause',
    () => send('POST', '/v1/targets/api.example.com/pause'),
  ],
  'POST /v1/targets/{target}/resume': [
    'target.resume',
    () => send('POST', '/v1/targets/api.example.com/resume'),
  ],
  'POST /v1/blackouts': ['blackout.create', () => send('POST', '/v1/blackouts', BLACKOUT)],
  'DELETE /v1/blackouts/{id}': [
    'blackout.delete',
    async () => send('DELETE', `/v1/blackouts/${await made(send('POST', '/v1/blackouts', BLACKOUT))}`),
  ],
  'PUT /v1/secrets/{name}': ['secret.set', () => send('PUT', '/v1/secrets/TOKEN', { value: 'a value' })],
  'DELETE /v1/secrets/{name}': [
    'secret.delete',
    async () => {
      await send('PUT', '/v1/secrets/OLD', { value: 'a value' })
      return send('DELETE', '/v1/secrets/OLD')
    },
  ],
  'POST /v1/secrets-key/rotate': ['encryption_key.rotate', () => send('POST', '/v1/secrets-key/rotate')],
  'POST /v1/files': ['file.create', () => aFile()],
  'PUT /v1/files/{id}/content': [
    'file.upload',
    async () => send('PUT', `/v1/files/${await made(aFile())}/content`, Buffer.from(uuidv7())),
  ],
  'DELETE /v1/files/{id}': ['file.delete', async () => send('DELETE', `/v1/files/${await made(aFile())}`)],
  'POST /v1/signing-secrets': ['signing_secret.create', () => send('POST', '/v1/signing-secrets', {})],
  'POST /v1/signing-secrets/rotate': [
    'signing_secret.create',
    () => send('POST', '/v1/signing-secrets/rotate', {}),
  ],
  'DELETE /v1/signing-secrets/{id}': [
    'signing_secret.revoke',
    async () => send('DELETE', `/v1/signing-secrets/${await aSecret()}`),
  ],
  'POST /v1/subscriptions': [
    'subscription.create',
    () => send('POST', '/v1/subscriptions', { url: 'http://127.0.0.1:1/' }),
  ],
  'PATCH /v1/subscriptions/{id}': [
    'subscription.edit',
    async () => send('PATCH', `/v1/subscriptions/${await aSubscription()}`, { name: 'another' }),
  ],
  'POST /v1/subscriptions/{id}/resume': [
    'subscription.resume',
    async () => send('POST', `/v1/subscriptions/${await aSubscription()}/resume`),
  ],
  'DELETE /v1/subscriptions/{id}': [
    'subscription.delete',
    async () => send('DELETE', `/v1/subscriptions/${await aSubscription()}`),
  ],
  'POST /v1/keys': ['key.create', () => send('POST', '/v1/keys', A_KEY)],
  'PATCH /v1/keys/{id}': [
    'key.edit',
    async () => send('PATCH', `/v1/keys/${await aKey()}`, { limits: { requestRate: '10/s' } }),
  ],
  'POST /v1/keys/{id}/rotate': [
    'key.rotate',
    async () => send('POST', `/v1/keys/${await aKey()}/rotate`, {}),
  ],
  'DELETE /v1/keys/{id}': ['key.revoke', async () => send('DELETE', `/v1/keys/${await aKey()}`)],
  'POST /v1/members': ['member.set', () => send('POST', '/v1/members', { group: 'a', role: 'viewer' })],
  'DELETE /v1/members/{id}': [
    'member.remove',
    async () => send('DELETE', `/v1/members/${await aMember('/v1/members')}`),
  ],
  'POST /v1/installation/members': [
    'member.set',
    () => send('POST', '/v1/installation/members', { group: 'a', role: 'viewer' }),
  ],
  'DELETE /v1/installation/members/{id}': [
    'member.remove',
    async () => send('DELETE', `/v1/installation/members/${await aMember('/v1/installation/members')}`),
  ],
  'POST /v1/people/{id}/sign-out': [
    'session.end',
    async () => {
      const identity = { issuer: 'https://a.example/', subject: 'a', email: null, name: null, groups: [] }
      const [person] = await db.run(savePerson(uuidv7(), identity))
      return send('POST', `/v1/people/${person?.id}/sign-out`)
    },
  ],
  'POST /auth/sign-in': ['signin.succeeded', () => send('POST', '/auth/sign-in', { key: admin.key })],
  'POST /auth/sign-out': [
    'session.end',
    async () => app.send('POST', '/auth/sign-out', undefined, await aSession()),
  ],
  'POST /auth/sign-out-everywhere': [
    'session.end',
    async () => app.send('POST', '/auth/sign-out-everywhere', undefined, await aSession()),
  ],
  'POST /v1/projects': ['project.create', () => send('POST', '/v1/projects', { name: 'created' })],
  'DELETE /v1/projects/{name}': [
    'project.archive',
    async () => send('DELETE', `/v1/projects/${await aProject('archived')}`),
  ],
  'POST /v1/projects/{name}/restore': [
    'project.restore',
    async () => {
      const name = await aProject('restored')
      await send('DELETE', `/v1/projects/${name}`)
      return send('POST', `/v1/projects/${name}/restore`)
    },
  ],
  'PATCH /v1/projects/{name}': [
    'project.edit',
    () => send('PATCH', '/v1/projects/default', { limits: { minPeriod: '1s' } }),
  ],
}

const A_KEY = { name: 'deploy', role: 'editor' }
const BLACKOUT = {
  name: 'Night',
  window: { type: 'range', from: '2099-01-01T00:00:00Z', to: '2099-01-02T00:00:00Z' },
}

const { body: document } = await send('GET', '/openapi.json')
const routes = operationsOf(document)
  .filter(({ method }) => !READS.includes(method))
  .map(({ method, path }) => `${method} ${path}`)

test('every route that changes something is tested below or listed with the reason why it leaves no entry', () => {
  const known = [...Object.keys(CHANGES), ...Object.keys(WITHOUT_ENTRY)]

  expect(known.toSorted()).toEqual(routes.toSorted())
})

test.each(Object.entries(CHANGES))(
  '%s leaves one audit-log entry, and changes nothing if the entry cannot be stored',
  async (_, [action, call]) => {
    await db.run(sql`insert into refused_action values (${action})`)
    const refused = await call()
    const before = stored
    const after = await everything()
    await db.run(sql`truncate refused_action`)
    const { status, headers, text } = await call()

    expect(refused.status).toBe(500)
    if (!STEPWISE.includes(action)) expect(after).toBe(before)
    expect({ status, text }).toMatchObject({ status: expect.toSatisfy((code: number) => code < 300) })
    const { body } = await send('GET', '/v1/audit-log?scope=all')
    const of = body.items.filter((e: { requestId: string }) => e.requestId === headers['x-request-id'])
    expect(of.map((entry: { action: string }) => entry.action)).toEqual([action])
  },
)

test('the values before and after a change contain no secrets', async () => {
  const id = await made(send('POST', '/v1/subscriptions', { url: 'http://127.0.0.1:1/canary-4711' }))
  await send('PATCH', `/v1/subscriptions/${id}`, {
    secret: `whsec_${'canary4711canary4711canary4711cana'}==`,
  })
  const task = await aTask({
    action: { type: 'http', url: 'http://127.0.0.1:1/', headers: { authorization: 'canary-4711' } },
  })
  await send('PATCH', `/v1/tasks/${task}`, { name: 'another' })
  await send('POST', `/v1/tasks/${task}/trigger`, { action: { headers: { authorization: 'canary-4711' } } })
  const { body } = await send('GET', '/v1/audit-log?limit=10')

  const shown = await Promise.all(
    body.items.map((entry: { id: string }) => send('GET', `/v1/audit-log/${entry.id}`)),
  )

  expect(shown.map(({ text }) => text).join()).not.toMatch(/canary-?4711/)
  const [stored] = await db.run(sql<{ found: number }>`
    select count(*)::integer as found from audit_entry e where e::text ~ 'canary-?4711'`)
  expect(stored?.found).toBe(0)
})
