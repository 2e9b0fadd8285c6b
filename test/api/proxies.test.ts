/** What stands in front of a node, and what it is believed. */
import { request as ask } from 'node:http'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode, type TestNode } from '../support/node.ts'

const PUBLIC = 'https://belfry.example.com'
const database = await createTestDatabase()
const open = await startTestNode(database, { roles: 'api' })
const opened = await Promise.all(
  ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'].map((name) =>
    open.request('GET', '/v1/queues', undefined, { [name]: '203.0.113.9' }),
  ),
)
const { isOpen } = (await open.request('GET', '/auth/methods', undefined, { via: '1.1 proxy' })).body
const early = await Promise.allSettled(
  [{ publicUrl: PUBLIC }, { trustedProxies: '10.0.0.0/8' }].map((flags) => startTestNode(database, flags)),
)
const { body: admin } = await open.request('POST', '/v1/keys', { name: 'admin', role: 'admin' })
const believing = await startTestNode(database, { roles: 'api', trustedProxies: '127.0.0.0/8,10.0.0.0/8' })
const named = await startTestNode(database, { roles: 'api', publicUrl: PUBLIC })

const as = (token: string) => ({ authorization: `Bearer ${token}` })
const asAdmin = as(admin.key)

/** `fetch` sets the host itself. */
function statusOf(node: TestNode, method: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const path = method === 'GET' ? '/v1/queues' : '/v1/queues/default/resume'
    ask(node.url + path, { method, headers: { ...asAdmin, ...headers } }, (answer) =>
      resolve(answer.resume().statusCode ?? 0),
    )
      .on('error', reject)
      .end()
  })
}

/** Where somebody who makes a task is said to come from. */
async function editor(node: TestNode, headers: Record<string, string>): Promise<string> {
  const action = { type: 'sleep', duration: '0s' }
  const task = { action, schedule: { type: 'manual' } }
  const { body } = await node.request('POST', '/v1/tasks', task, { ...asAdmin, ...headers })
  const { body: log } = await node.request('GET', `/v1/audit-log?subject=${body.id}`, undefined, asAdmin)
  return log.items[0].address
}

test('a server without keys refuses requests through a proxy, and does not start if a proxy is configured', () => {
  expect(opened.map(({ status }) => status)).toEqual(opened.map(() => 401))
  expect(opened[0]?.body.detail).toContain('belfry key create --role admin')
  expect(isOpen).toBe(false)
  expect(early).toMatchObject([
    { status: 'rejected', reason: { name: 'OpenHostError', proxy: `--public-url ${PUBLIC}` } },
    { status: 'rejected', reason: { name: 'OpenHostError', proxy: '--trusted-proxies' } },
  ])
})

test.each([
  ['the address that its proxy names', '203.0.113.9', '203.0.113.9'],
  ['the last one that no trusted proxy has', '198.51.100.1, 203.0.113.9, 10.0.0.7', '203.0.113.9'],
])('the address of a client is %s', async (_, forwarded, client) => {
  expect(await editor(believing, { 'x-forwarded-for': forwarded })).toBe(client)
})

test('without trusted proxies X-Forwarded-For is ignored', async () => {
  expect(await editor(named, { 'x-forwarded-for': '203.0.113.9' })).toBe('127.0.0.1')
})

test('behind a trusted proxy the dashboard can make changes, only under its forwarded host and scheme', async () => {
  const forwarded = {
    host: 'localhost',
    'x-forwarded-host': 'belfry.example.com',
    'x-forwarded-proto': 'https',
  }
  const from = (origin: string) => statusOf(believing, 'POST', { ...forwarded, origin })

  expect(await from(PUBLIC)).toBe(200)
  expect(await from('http://belfry.example.com')).toBe(403)
  expect(await from('https://evil.example')).toBe(403)
  expect(await statusOf(named, 'POST', { ...forwarded, origin: 'https://other.example.com' })).toBe(403)
})

test('a node accepts its public URL and its pages, and refuses other host names', async () => {
  const at = (host: string, origin?: string) =>
    statusOf(named, origin === undefined ? 'GET' : 'POST', { host, ...(origin ? { origin } : {}) })

  expect(await at('belfry.example.com')).toBe(200)
  expect(await at('Belfry.Example.com', PUBLIC)).toBe(200)
  expect(await at('localhost', PUBLIC)).toBe(200)
  expect(await at('evil.example')).toBe(421)
})

test('X-Forwarded-Host does not make an unknown Host acceptable', async () => {
  const rebinding = { host: 'evil.example', 'x-forwarded-host': 'localhost' }

  expect(await statusOf(believing, 'GET', rebinding)).toBe(421)
})

test.each([
  ['a word', '198.51.100.1, unknown', '127.0.0.1'],
  ['a long text', 'x'.repeat(8_000), '127.0.0.1'],
  ['an address with a port', '203.0.113.9:4711', '203.0.113.9'],
  ['an IPv6 address in brackets', '[2001:db8::9]:443', '2001:db8::9'],
])('%s in X-Forwarded-For is read as an address or ignored', async (_, forwarded, client) => {
  expect(await editor(believing, { 'x-forwarded-for': forwarded })).toBe(client)
})

test('a worker is accepted only from the networks of its key', async () => {
  const fields = { name: 'worker', role: 'worker', project: 'default', networks: ['203.0.113.0/24'] }
  const { body: key } = await believing.request('POST', '/v1/keys', fields, asAdmin)
  const from = (address: string, token: string) => ({ ...as(token), 'x-forwarded-for': address })
  const register = (address: string) =>
    believing.request('POST', '/v1/worker/register', { handlers: ['h'] }, from(address, key.key))
  const { body: worker } = await register('203.0.113.9')

  const beat = (address: string) =>
    believing.request('POST', '/v1/worker/heartbeat', {}, from(address, worker.token))
  const answers = [await register('198.51.100.1'), await beat('203.0.113.10'), await beat('198.51.100.1')]

  expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
    [403, 'forbidden'],
    [200, undefined],
    [403, 'forbidden'],
  ])
})
