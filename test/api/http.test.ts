/** What the server owes to HTTP itself, whatever is behind it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { answerUnreadable } from '../../src/api/http/socket-errors.ts'
import { Database } from '../../src/store/database/database.ts'
import { createTestDatabase } from '../support/database.ts'
import { startOneNode } from '../support/node.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { send } = await createTestApp(database)
const node = await startOneNode(database, { roles: 'api' })

/** Sends bytes and reads the answer until the connection ends. */
function speak(text: string): Promise<string> {
  const { hostname, port } = new URL(node.url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

test('an unknown path gets a problem document', async () => {
  const { status, headers, body } = await send('GET', '/v1/taks?x=1')

  expect(status).toBe(404)
  expect(headers['content-type']).toBe('application/problem+json')
  expect(body).toMatchObject({
    code: 'not_found',
    instance: '/v1/taks',
    detail: expect.stringContaining('/docs'),
  })
})

test.each([
  ['/v1/audit?limit=1', '/v1/findings'],
  ['/v1/project', '/v1/projects/default'],
])('the answer for the former path %s names %s', async (former, path) => {
  const { status, body } = await send('GET', former)
  const now = await send('GET', path)

  expect(status).toBe(404)
  expect(body.detail).toContain(`Use ${path} instead.`)
  expect(now.status).toBe(200)
})

test.each([
  ['DELETE', '/v1/tasks', 'GET, HEAD, POST, OPTIONS'],
  ['POST', '/v1/tasks/01900000-0000-7000-8000-000000000000', 'DELETE, GET, HEAD, PATCH, OPTIONS'],
  ['GET', '/v1/tasks/x/pause', 'POST, OPTIONS'],
  ['PUT', '/v1/schedules/preview', 'POST, OPTIONS'],
  ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
  ['DELETE', '/tasks', 'GET, HEAD, POST, OPTIONS'],
])('%s %s gets 405 with the allowed methods', async (method, url, allow) => {
  const { status, headers, body } = await send(method, url)

  expect(status).toBe(405)
  expect(headers['allow']).toBe(allow)
  expect(body).toMatchObject({ code: 'method_not_allowed', status: 405 })
})

test('OPTIONS lists the allowed methods and grants other origins no access', async () => {
  const known = await send('OPTIONS', '/v1/tasks', undefined, { origin: 'https://evil.example' })
  const unknown = await send('OPTIONS', '/v1/nothing')

  expect(known.status).toBe(204)
  expect(known.headers['allow']).toBe('GET, HEAD, POST, OPTIONS')
  expect(Object.keys(known.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  expect(unknown.status).toBe(404)
})

test('HEAD is GET without the body', async () => {
  const get = await send('GET', '/v1/tasks')
  const head = await send('HEAD', '/v1/tasks')

  expect(head.status).toBe(200)
  expect(head.text).toBe('')
  expect(head.headers['content-length']).toBe(get.headers['content-length'])
})

test.each(['/v1/tasks', '/v1/nothing', '/tasks', '/healthz', '/readyz', '/openapi.json', '/v1/tasks/%zz'])(
  'responses of %s forbid caching and content sniffing',
  async (url) => {
    const { headers } = await send('GET', url)

    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  },
)

test.each([
  ['no HTTP at all', 'hello\r\n\r\n'],
  ['a header that is none', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n'],
  [
    'two lengths',
    'POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
  ],
  [
    'a length and chunks',
    'POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}',
  ],
])('%s is answered with a problem document', async (_, text) => {
  const answer = await speak(text)

  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request/)
  expect(head).toContain('application/problem+json')
  expect(JSON.parse(body)).toMatchObject({ code: 'malformed_request', status: 400 })
})

test('a body that is too large by its Content-Length is refused before it is sent', async () => {
  const answer = await speak(
    'POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2000000\r\nconnection: close\r\n\r\n',
  )

  expect(answer).toMatch(/^HTTP\/1\.1 413/)
  expect(answer).toContain('The body must not be larger than 1048576 bytes.')
})

test('a request without Host gets 421', async () => {
  expect(await speak('GET /v1/tasks HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 421/)
})

test('an idle connection is closed silently, and one with half a request gets 400', async () => {
  const server = createServer({ requestTimeout: 100, headersTimeout: 100, connectionsCheckingInterval: 20 })
  server.on('clientError', answerUnreadable)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const hear = (text: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(text))
      let heard = ''
      socket.on('data', (chunk) => {
        heard += chunk
      })
      socket.on('close', () => resolve(heard))
    })

  const [silent, half] = await Promise.all([hear(''), hear('GET / HTTP/1.1\r\n')])
  server.close()

  expect(silent).toBe('')
  expect(half).toMatch(/^HTTP\/1.1 400 .*was not received in time/s)
})

test('the server is alive and ready', async () => {
  expect((await send('GET', '/healthz')).body).toEqual({ status: 'ok' })
  expect((await send('GET', '/readyz')).body).toEqual({ status: 'ready', code: null, reasons: [] })
})

test('without its database the server is alive, is not ready, and sends Retry-After', async () => {
  const url = 'postgres://nobody@127.0.0.1:1/nothing'
  const db = new Database({ url, applicationName: 'test', maxConnections: 1, statementTimeoutMs: 1_000 })
  const { send: ask } = await createTestApp({ db })
  afterAll(() => db.close())

  const create = await ask('POST', '/v1/tasks', { action: { type: 'sleep', duration: '1s' } })
  const readiness = await ask('GET', '/readyz')

  expect(create).toMatchObject({
    status: 503,
    headers: { 'retry-after': '1' },
    body: { code: 'unavailable' },
  })
  expect(readiness).toMatchObject({ status: 503, body: { status: 'not_ready' } })
  expect((await ask('GET', '/healthz')).status).toBe(200)
  expect((await ask('POST', '/tasks', { command: '1s' })).status).toBe(500)
})

test('the documentation page loads only from this server', async () => {
  const page = await send('GET', '/docs/')

  expect(page.status).toBe(200)
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.text).not.toMatch(/https?:\/\//)
  expect(page.text).toContain('<title>Belfry API</title>')
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  expect(page.headers['content-security-policy']).toContain("connect-src 'self'")

  const sources = [...page.text.matchAll(/src="([^"]+)"/g)].map(([, source]) => source ?? '')
  expect(sources).toEqual(['js/scalar.js'])
  const script = await send('GET', `/docs/${sources[0]}`)
  expect(script.status).toBe(200)
  expect(script.headers['content-type']).toMatch(/^application\/javascript/)
  expect(script.text.length).toBeGreaterThan(1_000_000)
})

test('the documentation page finds the OpenAPI document, and /docs redirects to the page', async () => {
  const page = await send('GET', '/docs/')
  const [, url = ''] = /"url": "([^"]+)"/.exec(page.text) ?? []
  const { pathname } = new URL(url, 'http://localhost/docs/')

  expect((await send('GET', pathname)).body.info.title).toBe('Belfry')
  expect(await send('GET', '/docs')).toMatchObject({ status: 301, headers: { location: '/docs/' } })
})

test('a server stops despite open connections without a complete request', async () => {
  // So that nothing but the stop closes them.
  const limits = { headersTimeoutMs: 600_000, requestTimeoutMs: 600_000 }
  const node = await startOneNode(await createTestDatabase(), { roles: 'api', ...limits })
  const { port } = new URL(node.url)
  const silent = connect(Number(port), '127.0.0.1')
  const halfway = connect(Number(port), '127.0.0.1')
  await Promise.all([once(silent, 'connect'), once(halfway, 'connect')])
  halfway.write('GET /healthz HTTP/1.1\r\nHost: loc')
  await node.request('GET', '/healthz')
  const closed = Promise.all([once(silent.resume(), 'close'), once(halfway.resume(), 'close')])

  await node.stop()

  await closed
})
