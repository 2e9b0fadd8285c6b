/** Pictures of the screens about access, on a server with keys and people: with nothing, a few and thousands of each. */
import { test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { sql } from '../../src/store/database/sql.ts'
import { startBalancer } from '../support/balancer.ts'
import { startBrowser } from '../support/browser.ts'
import { createTestDatabase } from '../support/database.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { request, startTestNode } from '../support/node.ts'
import { heading, picturesOf, type Screen, text } from './pictures.ts'

const ADMIN_KEY = 'an-admin-key-for-pictures-of-enough-characters'
const LONG = 'a-name-that-goes-on-and-on-as-people-write-them-when-nobody-stops-them-and-then-a-bit'
const MANY = 2_000

const { visit } = await startBrowser()
const database = await createTestDatabase()
// The address has to be known before the node that answers there.
const balancer = await startBalancer()
const provider = await startIdentityProvider(() => [`${balancer.url}/auth/callback`])
const node = await startTestNode(database, { adminKey: ADMIN_KEY, ...provider.flagsFor(balancer.url) })
balancer.servers.push(node.url)
const asAdmin = (method: string, path: string, body?: unknown) =>
  request(node.url, method, path, body, { authorization: `Bearer ${ADMIN_KEY}` })
const picture = picturesOf(visit, balancer.url, async (page) => {
  await page.getByRole('textbox', { name: 'API key' }).fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Sign in with this key' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
})

const section = (name: string, ready: Screen['ready']): Screen => ({
  name: `settings-${name}`,
  path: `/settings/${name}`,
  ready,
})

/** What a button of a row opens. */
const dialogOf = (
  name: string,
  path: string,
  button: string,
  then: Screen['ready'] = async () => {},
): Screen => ({
  name,
  path,
  ready: async (page) => {
    await page.getByRole('button', { name: button }).click()
    await page.getByRole('dialog').waitFor()
    await then(page)
  },
})

const panel = (name: string, button: string): Screen => ({
  name: `panel-${name}`,
  path: `/settings/${name}?panel=new`,
  ready: (page) => page.getByRole('dialog').getByRole('button', { name: button }).waitFor(),
})

test('a server without users', async () => {
  await picture('0', [
    section('secrets', text('No secrets yet.')),
    section('subscriptions', text('No subscriptions yet.')),
    section('members', text('No members yet.')),
    section('installation-members', text('No members yet.')),
    section('people', text('No one has signed in')),
    section('projects', text('shown now')),
    section('limits', text('Save limits')),
    section('retention', text('Save retention')),
    panel('keys', 'Create key'),
    panel('members', 'Add member'),
    panel('secrets', 'Save secret'),
    panel('projects', 'Create project'),
    panel('signing-secrets', 'Create secret'),
    { name: 'queues', path: '/queues', ready: heading('By name') },
    { name: 'queue', path: '/queues/default', ready: text('No runs are waiting') },
    { name: 'audit-log', path: '/audit-log?action=task.edit', ready: text('No changes match') },
  ])
})

async function makeAFew(): Promise<void> {
  for (const name of ['web-shop', 'warehouse', LONG.slice(0, 58)])
    await asAdmin('POST', '/v1/projects', { name })
  await asAdmin('DELETE', '/v1/projects/warehouse')
  const limits = { requestRate: '100/m', maxPayloadBytes: 65_536, minPeriod: '1m', maxAhead: '30d' }
  await asAdmin('PATCH', '/v1/projects/default', {
    limits: { requestRate: '6000/m', maxTasks: 10_000, maxRunning: 1_000, maxStoredBytes: 1_000_000 },
  })
  for (const key of [
    { name: 'deploy', role: 'editor', project: 'default', limits },
    {
      name: 'invoices worker',
      role: 'worker',
      project: 'default',
      queues: ['invoices', 'mail'],
      networks: ['10.0.0.0/8'],
    },
    { name: LONG, role: 'viewer', expiresAt: '2098-01-01T00:00:00Z' },
    { name: 'left the company', role: 'admin' },
  ]) {
    const { body } = await asAdmin('POST', '/v1/keys', key)
    if (key.name === 'left the company') await asAdmin('DELETE', `/v1/keys/${body.id}`)
  }
  for (const path of ['/v1/members', '/v1/installation/members']) {
    await asAdmin('POST', path, { group: 'platform', role: 'admin' })
    await asAdmin('POST', path, { email: 'ada@example.com', role: 'editor' })
    await asAdmin('POST', path, { group: LONG, role: 'viewer' })
  }
  for (const name of ['API_TOKEN', 'SMTP_PASSWORD', LONG.replaceAll('-', '_').toUpperCase()])
    await asAdmin('PUT', `/v1/secrets/${name}`, { value: 'a value' })
  await asAdmin('POST', '/v1/subscriptions', {
    name: 'security log',
    url: 'https://siem.example.com/belfry',
    filter: { events: ['audit-log'], actions: ['key.create', 'key.revoke', 'member.set'] },
  })
  await asAdmin('POST', '/v1/subscriptions', { url: `https://example.com/${LONG}/${LONG}` })
  for (const name of ['sync the stock', LONG])
    await asAdmin('POST', '/v1/tasks', {
      name,
      action: { type: 'http', method: 'GET', url: 'https://api.example.com/?token={{secret.API_TOKEN}}' },
      schedule: { type: 'manual' },
    })
  await asAdmin('PATCH', '/v1/projects/default', {
    mail: { server: 'smtp://shop:{{secret.API_TOKEN}}@mail.example.com:587' },
  })
  await makePeople(5)
  await asAdmin('PATCH', '/v1/queues/mail', { concurrencyLimit: 4, rate: '10/m', burst: 5 })
  await asAdmin('POST', `/v1/queues/${LONG}/pause`)
  for (const queue of ['mail', LONG]) {
    const startAt = new Date().toISOString()
    const tasks = Array.from({ length: 30 }, (_, n) => ({
      name: n === 3 ? LONG : `send the digest to customer ${n}`,
      queue,
      startAt,
      action: { type: 'sleep', duration: '1h' },
    }))
    await asAdmin('POST', '/v1/tasks/bulk', { tasks })
  }
  const { body: task } = await asAdmin('POST', '/v1/tasks', {
    name: LONG,
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'manual' },
  })
  await asAdmin('PATCH', `/v1/tasks/${task.id}`, { timeout: '5m', reason: `it takes longer, ${LONG}` })
  await asAdmin(
    'POST',
    `/v1/targets/${encodeURIComponent(`https://${LONG.slice(0, 60)}.example.com`)}/pause`,
    { reason: 'maintenance' },
  )
}

/** So many who have signed in, some of whom still are. */
async function makePeople(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const id = uuidv7()
    const name = n === 2 ? LONG : `Person Number ${n}`
    await database.db.run(sql`
      insert into person (id, issuer, subject, email, name, groups)
      values (${id}, 'https://login.example.com', ${id}, ${`${name.replaceAll(' ', '.').toLowerCase()}@example.com`}, ${name}, ${n % 2 === 0 ? ['dev', 'platform'] : []}::text[])`)
    if (n < 3)
      await database.db.run(sql`
        insert into session (id, token_hash, person_id) select gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), ${id} from generate_series(0, ${n}::integer)`)
  }
}

const FEW: readonly Screen[] = [
  section('secrets', text('API_TOKEN')),
  section('subscriptions', text('security log')),
  section('keys', text('deploy')),
  section('members', text('ada@example.com')),
  section('installation-members', text('ada@example.com')),
  section('people', text('person.number.0@example.com')),
  section('projects', text('Archived projects')),
  section('limits', text('used')),
  dialogOf('secret-delete', '/settings/secrets', 'Delete API_TOKEN', text('It is used by')),
  dialogOf('secret-lines', '/settings/secrets', 'New value API_TOKEN', async (page) => {
    await page.getByLabel('Several lines').check()
    await page.getByLabel('Value', { exact: true }).fill('-----BEGIN KEY-----\nMIIC\n-----END KEY-----')
  }),
  dialogOf('key-limits', '/settings/keys', 'Limits deploy'),
  dialogOf('key-rotate', '/settings/keys', 'Rotate deploy'),
  dialogOf('key-revoke', '/settings/keys', 'Revoke deploy'),
  dialogOf('member-role', '/settings/members', 'Change role ada@example.com'),
  {
    name: 'limits-changed',
    path: '/settings/limits',
    ready: async (page) => {
      await page.getByLabel('Maximum number of tasks', { exact: true }).fill('20000')
      await page.getByLabel('Reason').waitFor()
    },
  },
  { name: 'queues', path: '/queues', ready: text('mail') },
  { name: 'queue', path: '/queues/mail', ready: heading('Waiting runs, next first') },
  { name: 'queue-paused', path: `/queues/${LONG}`, ready: heading('Waiting runs, next first') },
  dialogOf('queue-limits', '/queues/mail', 'Set limits…'),
  { name: 'audit-log', path: '/audit-log', ready: text('it takes longer') },
  { name: 'audit-log-between', path: '/audit-log?to=2099-01-01T00:00:00Z', ready: text('it takes longer') },
  {
    name: 'audit-entry',
    path: '/audit-log?action=task.edit',
    ready: async (page) => {
      await page.getByRole('link', { name: 'task.edit' }).click()
      await page.getByRole('heading', { name: 'Before and after' }).waitFor()
    },
  },
  { name: 'targets', path: '/targets', ready: heading('By name') },
  {
    name: 'user-menu',
    path: '/tasks',
    ready: async (page) => {
      await page.getByRole('button', { name: /Signed in as/ }).click()
      await page.getByRole('menuitem', { name: 'Sign out', exact: true }).waitFor()
    },
  },
]

test('a few entries in each list', async () => {
  await makeAFew()
  await picture('few', FEW)
})

test('thousands of entries in each list', async () => {
  await database.db.run(sql`
    insert into api_key (id, project_id, name, role, hash, hint)
    select gen_random_uuid(), null, 'service ' || n, 'viewer', sha256(('k' || n)::bytea), 'bf_' || left(md5(n::text), 5) from generate_series(1, ${MANY}::integer) n`)
  await database.db.run(sql`
    insert into project (id, name) select gen_random_uuid(), 'tenant-' || n from generate_series(1, 500) n`)
  await database.db.run(sql`
    insert into queue (project_id, name) select id, 'tenant-' || n from project, generate_series(1, ${MANY}::integer) n where name = 'default'`)
  await database.db.run(sql`
    insert into member (id, project_id, kind, who, role)
    select gen_random_uuid(), id, 'group', 'team-' || n, 'viewer' from project, generate_series(1, 900) n where name = 'default'`)
  await makePeople(300)

  await picture(
    'many',
    FEW.slice(2, 7)
      .filter(({ name }) => name !== 'settings-installation-members')
      .concat(FEW.filter(({ name }) => name === 'queues'))
      .map((screen) => ({
        ...screen,
        ready: (page) => page.getByRole('listitem').or(page.getByRole('row')).nth(20).waitFor(),
      })),
  )
})
