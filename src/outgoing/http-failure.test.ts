/** Every way in which a request can fail has a code and a sentence, and says whether to try again. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aNameServer, type Reply } from '../../test/support/name-server.ts'
import {
  answering,
  closedPort,
  failure,
  httpServer,
  OK,
  rawServer,
  sendBy,
} from '../worker/executors/test-support.ts'
import { HttpClient, MAX_HEADER_COUNT, MAX_INTERIM_RESPONSES } from './http-client.ts'
import { NameResolver } from './names/name-resolver.ts'
import { MAX_CONNECTIONS_PER_ORIGIN } from './origin-pools.ts'

let client: HttpClient
beforeEach(() => {
  client = new HttpClient({ allowPrivate: true })
})
afterEach(() => client.close())
const send = (url: string, override: Parameters<typeof sendBy>[2] = {}) => sendBy(client, url, override)

test('a closed port is reported as a refused connection', async () => {
  const port = await closedPort()

  const result = await send(`http://127.0.0.1:${port}/`)

  expect(result).toMatchObject(failure('connect_refused', `^connection refused by 127.0.0.1:${port}$`))
})

test('more refused requests than connections all end', async () => {
  const url = `http://127.0.0.1:${await closedPort()}/`

  const results = await Promise.all(Array.from({ length: 2 * MAX_CONNECTIONS_PER_ORIGIN }, () => send(url)))

  expect(results.every((result) => !result.ok && result.failure.error.code === 'connect_refused')).toBe(true)
  expect(client.openOrigins).toBe(0)
})

test.each<[string, Reply, string, string]>([
  ['does not exist', { code: 'NXDOMAIN' }, 'dns_not_found', 'the host api.example.com does not exist'],
  [
    'has no answer',
    { code: 'SERVFAIL' },
    'dns_unavailable',
    'the host api.example.com could not be resolved: DNS did not respond',
  ],
])('a name that %s has a separate error', async (_, reply, code, message) => {
  await client.close()
  const { server } = await aNameServer(() => reply)
  client = new HttpClient({ allowPrivate: true, resolver: new NameResolver({ servers: [server] }) })

  expect(await send('http://api.example.com/')).toMatchObject(failure(code, message))
})

test('a connection reset before the response is distinguished from one within the body', async () => {
  const early = await rawServer((socket) => socket.resetAndDestroy())
  const late = await rawServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome')
    // Two turns of the loop, so that the client has read: data and reset together look like an end to libuv.
    setImmediate(() => setImmediate(() => socket.resetAndDestroy()))
  })

  expect(await send(early.url)).toMatchObject(
    failure('connection_reset', /^connection reset by .* before responding$/),
  )
  expect(await send(late.url)).toMatchObject(
    failure('connection_reset', /^connection reset by .* in the middle of its response \(HTTP 200\)$/),
  )
})

test.each([
  ['before an answer', '', /closed the connection before responding$/],
  ['inside the head', 'HTTP/1.1 200 OK\r\ncontent-', /closed the connection before responding$/],
  [
    'inside a body',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf',
    /in the middle of its response \(HTTP 200\)$/,
  ],
  [
    'inside a closing body',
    'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nhalf',
    /in the middle of its response \(HTTP 200\)$/,
  ],
  [
    'inside a chunk',
    'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhalf',
    /in the middle of its response \(HTTP 200\)$/,
  ],
])('a connection closed %s is reported as closed', async (_name, bytes, message) => {
  const server = await rawServer((socket) => socket.end(bytes))

  expect(await send(server.url)).toMatchObject(failure('connection_closed', message))
})

test('the received part of a cut response is kept', async () => {
  const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'))

  expect(await send(server.url)).toMatchObject({
    ok: false,
    failure: { error: { detail: { status: 200 } } },
    response: { status: 200, body: 'half', truncated: true },
  })
})

test.each([
  ['noise', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['a bad status line', 'HTTP/1.1 abc OK\r\n\r\n'],
  ['a bad header', 'HTTP/1.1 200 OK\r\nbad header\r\n\r\n'],
  ['two framings', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc'],
  ['an upgrade nobody asked for', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
  ['a bad chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  ['too large headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
  ['too many headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(MAX_HEADER_COUNT + 1)}\r\n`],
  ['too many interim answers', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(MAX_INTERIM_RESPONSES + 1)],
])('%s is reported as invalid HTTP', async (_name, bytes) => {
  const server = await answering(bytes)

  expect(await send(server.url)).toMatchObject(
    failure('protocol_error', /^127\.0\.0\.1:\d+ did not respond with valid HTTP: /),
  )
})

test('plain HTTP where TLS was expected is a TLS error', async () => {
  const server = await httpServer((_request, response) => response.end())

  const result = await send(server.url.replace('http:', 'https:'))

  expect(result).toMatchObject(failure('tls_error', /^TLS connection to 127\.0\.0\.1:\d+ failed: /))
})

test('a handshake that never ends is a connect timeout', async () => {
  await client.close()
  client = new HttpClient({ allowPrivate: true, connectTimeoutMs: 50 })
  const server = await rawServer(() => {})

  const result = await send(server.url.replace('http:', 'https:'))

  expect(result).toMatchObject(failure('connect_timeout', /^timed out connecting to 127\.0\.0\.1:\d+$/))
})

test('a body that stalls is a body timeout', async () => {
  await client.close()
  client = new HttpClient({ allowPrivate: true, bodyIdleTimeoutMs: 50 })
  const server = await answering('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')

  const result = await send(server.url)

  expect(result).toMatchObject(
    failure('body_timeout', /stopped sending data in the middle of its response \(HTTP 200\)$/),
  )
})

test('an invalid header fails permanently', async () => {
  const server = await answering(OK)

  const result = await send(server.url, { headers: ['x-name', 'line\r\nbreak'] })

  expect(result).toMatchObject({
    ok: false,
    failure: { error: { code: 'invalid_request' }, retryable: false },
  })
})
