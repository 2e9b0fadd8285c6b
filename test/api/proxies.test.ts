/** What stands in front of a node, and what it is believed. */
import { request as ask } from 'node:http'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { aManualTask, startTestNode, type TestNode } from '../support/node.ts'

const PUBLIC = 'https://belfry.example.com'
const database = await createTestDatabase()
const believing = await startTestNode(database, { roles: 'api', trustedProxies: '127.0.0.0/8,10.0.0.0/8' })
const named = await startTestNode(database, { roles: 'api', publicUrl: PUBLIC })

const as = (token: string) => ({ authorization: `Bearer ${token}` })

/** `fetch` sets the host itself. */
function statusOf(node: TestNode, method: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const path = method === 'GET' ? '/v1/queues' : '/v1/queues/default/resume'
    ask(node.url + path, { method, headers }, (answer) => resolve(answer.resume().statusCode ?? 0))
      .on('error', reject)
      .end()
  })
}

/** Who is said to have edited a task. */
async function editor(node: TestNode, headers: Record<string, string>): Promise<string> {
  const id = await aManualTask(node)
  const edited = await node.request('PATCH', `/v1/tasks/${id}`, { name: 'renamed' }, headers)
  expect(edited.status).toBe(200)
  return (await node.request('GET', `/v1/tasks/${id}/versions`)).body.items[0].madeBy
}

test.each([
  ['the address that its proxy names', '203.0.113.9', '203.0.113.9'],
  ['the last one that no trusted proxy has', '198.51.100.1, 203.0.113.9, 10.0.0.7', '203.0.113.9'],
])('a client is known by %s', async (_, forwarded, client) => {
  expect(await editor(believing, { 'x-forwarded-for': forwarded })).toBe(client)
})

test('without trusted proxies nobody is believed', async () => {
  expect(await editor(named, { 'x-forwarded-for': '203.0.113.9' })).toBe('127.0.0.1')
})

test('the dashboard behind a proxy that is believed may change things, under its own name and scheme only', async () => {
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

test('a node that has a public address answers under it, lets its pages change things, and trusts no other name', async () => {
  const at = (host: string, origin?: string) =>
    statusOf(named, origin === undefined ? 'GET' : 'POST', { host, ...(origin ? { origin } : {}) })

  expect(await at('belfry.example.com')).toBe(200)
  expect(await at('Belfry.Example.com', PUBLIC)).toBe(200)
  expect(await at('localhost', PUBLIC)).toBe(200)
  expect(await at('evil.example')).toBe(421)
})

test('a name that only a header claims lets nobody in', async () => {
  const rebinding = { host: 'evil.example', 'x-forwarded-host': 'localhost' }

  expect(await statusOf(believing, 'GET', rebinding)).toBe(421)
})

test.each([
  ['a word', '198.51.100.1, unknown', '127.0.0.1'],
  ['a long text', 'x'.repeat(8_000), '127.0.0.1'],
  ['an address with a port', '203.0.113.9:4711', '203.0.113.9'],
  ['an IPv6 address in brackets', '[2001:db8::9]:443', '2001:db8::9'],
])('%s is read as an address or not at all', async (_, forwarded, client) => {
  expect(await editor(believing, { 'x-forwarded-for': forwarded })).toBe(client)
})

test('a worker is heard from the networks of its key only', async () => {
  const { body: admin } = await believing.request('POST', '/v1/keys', { name: 'admin', role: 'admin' })
  const fields = { name: 'worker', role: 'worker', project: 'default', networks: ['203.0.113.0/24'] }
  const { body: key } = await believing.request('POST', '/v1/keys', fields, as(admin.key))
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
