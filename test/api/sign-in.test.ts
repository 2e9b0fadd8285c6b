/** People sign in at two nodes behind a balancer, through a real provider or with a key, and are what their roles say. */
import { request as ask } from 'node:http'
import { describe, expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { sql } from '../../src/store/database/sql.ts'
import { startBalancer } from '../support/balancer.ts'
import { CookieClient } from '../support/cookie-client.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { startTestNode } from '../support/node.ts'

const ADMIN_KEY = 'an-admin-key-for-tests-of-enough-characters'
/** Every node obeys a change of access within 2 s; a machine that is busy with other tests gets more time. */
const OBEYED_MS = 20_000
const ALLOWED = 'https://intranet.example.com'
const database = await createTestDatabase()
const balancer = await startBalancer()
const provider = await startIdentityProvider(() => [`${balancer.url}/auth/callback`])
provider.accounts['ada'] = { email: 'ada@example.com', email_verified: true, name: 'Ada', groups: ['dev'] }
provider.accounts['bob'] = { email: 'bob@example.com', email_verified: false, name: 'Bob', groups: [] }
const flags = {
  roles: 'api',
  adminKey: ADMIN_KEY,
  allowedOrigins: ALLOWED,
  ...provider.flagsFor(balancer.url),
}
const nodes = [await startTestNode(database, flags), await startTestNode(database, flags)]
balancer.servers.push(...nodes.map(({ url }) => url))

const asAdmin = async (method: string, path: string, body?: unknown) =>
  new CookieClient(balancer.url).request(method, path, body, { authorization: `Bearer ${ADMIN_KEY}` })

/** Signs somebody in through the provider. */
async function signedIn(
  login: string,
  returnTo?: string,
): Promise<{ browser: CookieClient; location: string | null }> {
  const browser = new CookieClient(balancer.url)
  const query = returnTo === undefined ? '' : `?${new URLSearchParams({ return: returnTo })}`
  const started = await browser.fetch(`/auth/login${query}`)
  const returned = new URL(await provider.signIn(started.headers.get('location') ?? '', login))
  const answer = await browser.fetch(returned.pathname + returned.search)
  return { browser, location: answer.headers.get('location') }
}

async function signedInWithKey(key: string): Promise<CookieClient> {
  const browser = new CookieClient(balancer.url)
  expect((await browser.request('POST', '/auth/sign-in', { key })).status).toBe(204)
  return browser
}

const newKey = async (role: string, more: object = {}) =>
  (await asAdmin('POST', '/v1/keys', { name: `a ${role}`, role, ...more })).body

const entries = async (action: string) =>
  (await asAdmin('GET', `/v1/audit-log?scope=installation&action=${action}`)).body.items

/** A stream of changes that a browser has open; resolves when the server ends it. */
async function openStream(browser: CookieClient): Promise<{ ended: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const request = ask(`${balancer.url}/v1/stream`, { headers: { cookie: browser.cookie } }, (answer) => {
      if (answer.statusCode !== 200) return reject(new Error(`the stream answered ${answer.statusCode}`))
      answer.resume()
      resolve({ ended: new Promise((end) => void answer.once('close', end)) })
    })
    request.on('error', () => {})
    request.end()
  })
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const begun = performance.now()
  await work
  expect(performance.now() - begun).toBeLessThan(ms)
}

describe('a person', () => {
  test('without a role is known but sees nothing', async () => {
    const { browser, location } = await signedIn('bob')

    expect(location).toBe('/')
    expect((await browser.request('GET', '/v1/me')).body).toMatchObject({
      kind: 'person',
      name: 'Bob',
      email: null,
      installationRole: null,
      projects: [],
      project: null,
    })
    expect((await browser.request('GET', '/v1/tasks')).status).toBe(404)
    expect(
      (await browser.request('POST', '/v1/members', { email: 'bob@example.com', role: 'admin' })).status,
    ).toBe(404)
  })

  test('has the roles of their verified address and their groups until the member is removed', async () => {
    const { browser } = await signedIn('ada')
    const { browser: bob } = await signedIn('bob')
    const made = await asAdmin('POST', '/v1/members', { email: 'Ada@Example.com', role: 'viewer' })
    await asAdmin('POST', '/v1/members', { email: 'bob@example.com', role: 'admin' })

    expect(made).toMatchObject({
      status: 201,
      body: { email: 'ada@example.com', group: null, role: 'viewer' },
    })
    await eventually(async () => (await browser.request('GET', '/v1/tasks')).status === 200, {
      withinMs: OBEYED_MS,
    })
    expect((await browser.request('POST', '/v1/queues/default/pause')).status).toBe(403)
    // The provider did not verify the address, so it is nobody's.
    expect((await bob.request('GET', '/v1/tasks')).status).toBe(404)

    const group = await asAdmin('POST', '/v1/members', { group: 'dev', role: 'operator' })
    await eventually(async () => (await browser.request('POST', '/v1/queues/default/pause')).status === 200, {
      withinMs: OBEYED_MS,
    })
    expect((await browser.request('GET', '/v1/me')).body).toMatchObject({
      email: 'ada@example.com',
      projects: [{ name: 'default', role: 'operator' }],
      project: 'default',
    })

    const stream = await openStream(browser)
    await within(
      OBEYED_MS,
      asAdmin('DELETE', `/v1/members/${group.body.id}`).then(() => stream.ended),
    )
    expect((await browser.request('POST', '/v1/queues/default/resume')).status).toBe(403)
    await asAdmin('DELETE', `/v1/members/${made.body.id}`)
    await eventually(async () => (await browser.request('GET', '/v1/tasks')).status === 404, {
      withinMs: OBEYED_MS,
    })
  })

  test('gets a new role in one project, and a role in every project from the installation', async () => {
    const { browser } = await signedIn('ada')
    await asAdmin('POST', '/v1/members', { group: 'dev', role: 'viewer' })
    const again = await asAdmin('POST', '/v1/members', { group: 'dev', role: 'editor' })
    const installed = await asAdmin('POST', '/v1/installation/members', { group: 'dev', role: 'admin' })

    expect([again.status, again.body.role]).toEqual([200, 'editor'])
    await eventually(async () => (await browser.request('GET', '/v1/keys')).status === 200, {
      withinMs: OBEYED_MS,
    })
    expect((await browser.request('GET', '/v1/me')).body).toMatchObject({
      installationRole: 'admin',
      projects: [{ name: 'default', role: 'editor' }],
    })
    expect((await asAdmin('GET', '/v1/installation/members')).body.items).toMatchObject([{ group: 'dev' }])
    await asAdmin('DELETE', `/v1/installation/members/${installed.body.id}`)
    expect((await asAdmin('DELETE', `/v1/installation/members/${again.body.id}`)).status).toBe(404)
    expect((await asAdmin('DELETE', `/v1/members/${again.body.id}`)).status).toBe(204)
  })

  test('who manages one project and can view all creates keys for that project only', async () => {
    const members = [
      [
        '/v1/installation/members',
        (await asAdmin('POST', '/v1/installation/members', { group: 'dev', role: 'viewer' })).body.id,
      ],
      ['/v1/members', (await asAdmin('POST', '/v1/members', { group: 'dev', role: 'admin' })).body.id],
    ]
    const { browser } = await signedIn('ada')

    const unnamed = await browser.request('POST', '/v1/keys', { name: 'unnamed', role: 'admin' })
    const forAll = await browser.request('POST', '/v1/keys', { name: 'all', role: 'viewer', project: null })

    expect(unnamed).toMatchObject({ status: 201, body: { project: 'default' } })
    expect(forAll).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    for (const [path, id] of members) await asAdmin('DELETE', `${path}/${id}`)
  })

  test('belongs to the groups of their latest sign-in', async () => {
    const member = await asAdmin('POST', '/v1/members', { group: 'ops', role: 'viewer' })
    const { browser: before } = await signedIn('ada')
    provider.accounts['ada'] = { ...provider.accounts['ada'], groups: ['dev', 'ops'] }
    const statusBefore = (await before.request('GET', '/v1/tasks')).status
    const { browser: after } = await signedIn('ada')

    expect([statusBefore, (await after.request('GET', '/v1/tasks')).status]).toEqual([404, 200])
    await eventually(async () => (await before.request('GET', '/v1/tasks')).status === 200, {
      withinMs: OBEYED_MS,
    })
    await asAdmin('DELETE', `/v1/members/${member.body.id}`)
  })

  test('can sign out of one session or of all, and no node accepts the cookies afterwards', async () => {
    const { browser: one } = await signedIn('ada')
    const { browser: other } = await signedIn('ada')
    await asAdmin('POST', '/v1/members', { group: 'dev', role: 'viewer' })
    await eventually(async () => (await other.request('GET', '/v1/tasks')).status === 200)
    const [kept, keptByOther] = [one.cookie, other.cookie]

    expect((await one.request('POST', '/auth/sign-out')).status).toBe(204)
    expect(one.cookie).toBe('')
    const stolen = async (cookie: string) =>
      (await one.request('GET', '/v1/me', undefined, { cookie })).status
    await eventually(async () => (await stolen(kept)) === 401 && (await stolen(kept)) === 401, {
      withinMs: OBEYED_MS,
    })
    expect(await stolen(keptByOther)).toBe(200)

    const stream = await openStream(other)
    const { browser: third } = await signedIn('ada')
    const out = third.request('POST', '/auth/sign-out-everywhere')
    await within(OBEYED_MS, stream.ended)
    expect((await out).body.sessions).toBeGreaterThanOrEqual(2)
    await eventually(async () => (await stolen(keptByOther)) === 401, { withinMs: OBEYED_MS })
    expect((await third.request('POST', '/auth/sign-out-everywhere')).status).toBe(401)
    expect((await third.request('POST', '/auth/sign-out')).status).toBe(204)
  })

  test('can be signed out by an admin of the installation', async () => {
    const { browser } = await signedIn('ada')
    const stream = await asAdmin('POST', '/v1/members', { group: 'dev', role: 'viewer' }).then(() =>
      eventually(() => openStream(browser).catch(() => null)),
    )
    const { body: listed } = await asAdmin('GET', '/v1/people')
    const ada = listed.items.find(({ subject }: { subject: string }) => subject === 'ada')

    expect(ada).toMatchObject({ email: 'ada@example.com', name: 'Ada', groups: ['dev', 'ops'] })
    expect(Object.keys(ada)).not.toContain('issuer')
    const out = asAdmin('POST', `/v1/people/${ada.id}/sign-out`)
    await within(OBEYED_MS, stream.ended)
    expect((await out).body.sessions).toBe(ada.sessions)
    expect((await browser.request('GET', '/v1/people')).status).toBe(401)
    expect((await asAdmin('POST', `/v1/people/${uuidv7()}/sign-out`)).status).toBe(404)
    const about = await asAdmin('GET', `/v1/audit-log?scope=installation&subject=${ada.id}`)
    expect(about.body.items).toMatchObject([
      {
        action: 'session.end',
        actor: { kind: 'key', name: 'BELFRY_ADMIN_KEY' },
        subject: { kind: 'session', id: ada.id, name: 'ada@example.com' },
        after: { sessions: ada.sessions },
      },
    ])
  })

  test('is signed out when the OpenID provider is replaced', async () => {
    const { browser } = await signedIn('ada')
    await database.db.run(sql`update person set issuer = 'https://other.example/' where subject = 'ada'`)

    await eventually(async () => (await browser.request('GET', '/v1/me')).status === 401, {
      withinMs: OBEYED_MS,
    })
    expect((await browser.request('GET', '/v1/me')).body.detail).toBe(
      'Your session has ended. Sign in again.',
    )
  })
})

describe('a session', () => {
  test.each([
    ['idle', sql`update session set seen_at = now() - interval '721 minutes'`],
    ['too old', sql`update session set created_at = now() - interval '169 hours'`],
  ])('ends when it is %s', async (_, age) => {
    const { browser } = await signedIn('bob')
    await browser.request('GET', '/v1/me')
    await database.db.run(age)

    await eventually(async () => (await browser.request('GET', '/v1/me')).status === 401, {
      withinMs: OBEYED_MS,
    })
  })

  test('of a key has its role and ends with it, streams included', async () => {
    const { key, id } = await newKey('viewer')
    const browser = await signedInWithKey(key)
    const stream = await openStream(browser)

    expect((await browser.request('GET', '/v1/me')).body).toMatchObject({ kind: 'key', id, name: 'a viewer' })
    expect((await browser.request('POST', '/v1/queues/default/pause')).status).toBe(403)
    await within(
      OBEYED_MS,
      asAdmin('DELETE', `/v1/keys/${id}`).then(() => stream.ended),
    )
    await eventually(async () => (await browser.request('GET', '/v1/tasks')).status === 401, {
      withinMs: OBEYED_MS,
    })
  })

  test('of the configured key works at every node', async () => {
    const browser = await signedInWithKey(ADMIN_KEY)

    for (let i = 0; i < nodes.length; i++)
      expect((await browser.request('GET', '/v1/me')).body.installationRole).toBe('admin')
    expect((await browser.request('POST', '/auth/sign-out-everywhere')).body).toEqual({ sessions: 1 })
  })

  test('of a key is recorded as ended by that key', async () => {
    const { id, key } = await newKey('operator')
    for (const path of ['/auth/sign-out', '/auth/sign-out-everywhere'])
      await (await signedInWithKey(key)).request('POST', path)
    await (await signedInWithKey(ADMIN_KEY)).request('POST', '/auth/sign-out')

    const [last, ...before] = (await entries('session.end')).slice(0, 3)
    expect(last.actor).toMatchObject({ kind: 'key', name: 'BELFRY_ADMIN_KEY' })
    expect(before).toMatchObject(Array(2).fill({ actor: { kind: 'key', id, name: 'a operator' } }))
  })

  test('is stored as a hash, and its cookie is HttpOnly and SameSite', async () => {
    const browser = new CookieClient(balancer.url)
    const answer = await browser.fetch('/auth/sign-in', {
      method: 'POST',
      body: JSON.stringify({ key: ADMIN_KEY }),
      headers: { 'content-type': 'application/json', origin: balancer.url },
    })
    const [cookie = ''] = answer.headers.getSetCookie()
    const token = browser.cookies.get('belfry') ?? ''
    const rows = await database.db.run(sql<{ row: string }>`select s::text as row from session s`)

    expect(cookie).toMatch(/^belfry=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/)
    expect(rows.length).toBeGreaterThan(0)
    for (const { row } of rows)
      for (const form of [
        token,
        Buffer.from(token).toString('hex'),
        Buffer.from(token, 'base64url').toString('hex'),
      ])
        expect(row).not.toContain(form)
  })
})

describe('signing in', () => {
  test.each([
    ['/tasks/1/edit?tz=utc', '/tasks/1/edit?tz=utc'],
    ['https://evil.example/', '/'],
    ['//evil.example/', '/'],
    ['/\\evil.example', '/'],
  ])('with a return to %s redirects to %s', async (asked, reached) => {
    expect((await signedIn('ada', asked)).location).toBe(reached)
  })

  test('cannot be completed with a link that another person started', async () => {
    const attacker = new CookieClient(balancer.url)
    const started = await attacker.fetch('/auth/login')
    const returned = new URL(await provider.signIn(started.headers.get('location') ?? '', 'bob'))
    const link = returned.pathname + returned.search

    const victim = new CookieClient(balancer.url)
    const without = await victim.fetch(link)
    await victim.fetch('/auth/login')
    const withOwn = await victim.fetch(link)
    const forged = await victim.fetch(link, { headers: { cookie: 'belfry-sign-in=e30' } })

    expect(without.headers.get('location')).toBe('/sign-in?error=expired')
    expect(withOwn.headers.get('location')).toBe('/sign-in?error=invalid_response')
    expect(forged.headers.get('location')).toBe('/sign-in?error=expired')
    expect(victim.cookies.has('belfry')).toBe(false)
  })

  test('shows on its page that the provider refused', async () => {
    const browser = new CookieClient(balancer.url)
    const started = await browser.fetch('/auth/login?return=/runs')
    const state = new URL(started.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const query = new URLSearchParams({ error: 'access_denied', state, iss: provider.issuer })
    const answer = await browser.fetch(`/auth/callback?${query}`)

    expect(answer.headers.get('location')).toBe('/sign-in?error=denied&return=%2Fruns')
    await eventually(async () => {
      const failed: { after: { code: string } }[] = await entries('signin.failed')
      return failed.some(({ after }) => after.code === 'denied')
    })
  })

  test('with a key needs a valid one, and allows a limited number of attempts', async () => {
    const proxied = { ...flags, trustedProxies: '127.0.0.0/8' }
    const own = [await startTestNode(database, proxied), await startTestNode(database, proxied)]
    const { key: worker } = await newKey('worker')
    const { key: elsewhere } = await newKey('viewer', { networks: ['192.0.2.0/24'] })
    const browser = new CookieClient(balancer.url)
    let count = 0
    const tryTo = (key: unknown, address = '203.0.113.9') =>
      new CookieClient(own[count++ % 2]?.url ?? '').request(
        'POST',
        '/auth/sign-in',
        { key },
        { 'x-forwarded-for': address },
      )
    const signIn = async (key: unknown) => (await tryTo(key)).status

    expect(await signIn(worker)).toBe(403)
    expect(await signIn('')).toBe(422)
    expect(await signIn(elsewhere)).toBe(401)
    for (let i = 0; i < 9; i++) expect(await signIn('bf_wrong')).toBe(401)
    // A slow machine must not give it another try meanwhile.
    await database.db.run(sql`update request_quota set next_at = next_at + interval '60 seconds'`)
    const [refused, byOther] = [await tryTo(ADMIN_KEY), await tryTo(ADMIN_KEY)]
    await database.db.run(sql`delete from request_quota`)
    expect([refused, byOther]).toMatchObject(
      Array(2).fill({ status: 429, body: { code: 'too_many_sign_ins' } }),
    )
    expect((await tryTo(ADMIN_KEY, '203.0.113.10')).status).toBe(204)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(browser.cookies.size).toBe(0)
    const failed = await eventually(async () => {
      const found = await entries('signin.failed')
      return found.filter(({ after }: { after: { code: string } }) => after.code === 'unauthenticated')[0]
    })
    expect(failed).toMatchObject({ actor: { kind: 'anonymous' }, subject: { id: 'POST /auth/sign-in' } })
    expect(JSON.stringify(failed)).not.toContain('bf_wrong')
    expect((await entries('signin.succeeded')).length).toBeGreaterThan(0)
    expect((await entries('session.end')).length).toBeGreaterThan(0)
  })

  test('lists its methods, and redirects to its page while the provider is down', async () => {
    expect((await new CookieClient(balancer.url).request('GET', '/auth/methods')).body).toEqual({
      isOpen: false,
      openid: { name: new URL(provider.issuer).host },
    })
    const third = await startTestNode(database, { ...flags, oidcIssuer: 'http://127.0.0.1:9' })
    const answer = await new CookieClient(third.url).fetch('/auth/login')

    expect(answer.headers.get('location')).toBe('/sign-in?error=provider_unreachable')
    await third.stop()
  })
})

describe('with a session, a change', () => {
  const FOREIGN: readonly [string, Record<string, string>][] = [
    [
      'a form of another site',
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' },
    ],
    ['a fetch without CORS', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a neighbouring host', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }],
    ['a site that may use keys', { origin: ALLOWED, 'sec-fetch-site': 'same-site' }],
    ['a site that may use keys, in an old browser', { origin: ALLOWED }],
    ['a proxy with a password of its own', { authorization: 'Basic YTpi' }],
    ['a frame without an origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['an old browser on another site', { origin: 'https://evil.example' }],
    ['nothing that says where it is from', {}],
    ['the address bar', { 'sec-fetch-site': 'none' }],
  ]

  test.each(FOREIGN)('from %s is refused', async (_, headers) => {
    const browser = await signedInWithKey(ADMIN_KEY)
    const send = (path: string) =>
      fetch(balancer.url + path, { method: 'POST', headers: { cookie: browser.cookie, ...headers } })

    for (const path of ['/v1/queues/default/pause', '/auth/sign-out', '/auth/sign-out-everywhere']) {
      const answer = await send(path)
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
        403,
        'foreign_origin',
      ])
    }
    expect((await browser.request('GET', '/v1/me')).status).toBe(200)
  })

  test.each<[string, Record<string, string>]>([
    ['the dashboard', { origin: balancer.url, 'sec-fetch-site': 'same-origin' }],
    ['the dashboard in an old browser', { origin: balancer.url }],
    ['the dashboard, where the browser hides the origin', { 'sec-fetch-site': 'same-origin' }],
    ['a site that may use keys, with a key', { origin: ALLOWED, authorization: `Bearer ${ADMIN_KEY}` }],
    ['a program with a key of its own', { authorization: `Bearer ${ADMIN_KEY}` }],
  ])('from %s is accepted', async (_, headers) => {
    const browser = await signedInWithKey(ADMIN_KEY)
    const answer = await fetch(`${balancer.url}/v1/queues/default/resume`, {
      method: 'POST',
      headers: { cookie: browser.cookie, ...headers },
    })

    expect(answer.status).toBe(200)
  })
})

test('members are validated before they are stored, and only an admin can list them', async () => {
  const { key } = await newKey('editor')
  const asEditor = async (path: string) =>
    (await new CookieClient(balancer.url).request('GET', path, undefined, { authorization: `Bearer ${key}` }))
      .status
  const before = (await asAdmin('GET', '/v1/members')).body.items

  for (const wrong of [
    {},
    { role: 'viewer' },
    { email: 'ada@example.com', group: 'dev', role: 'viewer' },
    { email: 'ada', role: 'viewer' },
    { group: '', role: 'viewer' },
    { group: 'dev', role: 'worker' },
    { group: 'dev', role: 'viewer', more: 1 },
  ])
    expect((await asAdmin('POST', '/v1/members', wrong)).status, JSON.stringify(wrong)).toBe(422)

  expect((await asAdmin('GET', '/v1/members')).body.items).toEqual(before)
  expect([await asEditor('/v1/members'), await asEditor('/v1/installation/members')]).toEqual([403, 403])
})
