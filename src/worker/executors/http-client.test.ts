import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAX_DRAINED_BODY_BYTES, MAX_KEPT_BODY_BYTES } from './body-capture.ts'
import {
  HttpClient,
  type HttpRequest,
  MAX_HEADER_COUNT,
  MAX_INTERIM_RESPONSES,
  targetOf,
} from './http-client.ts'
import { MAX_CONNECTIONS_PER_ORIGIN, MAX_ORIGINS } from './origin-pools.ts'
import { answering, closed, closedPort, httpServer, rawServer } from './test-support.ts'

let client: HttpClient
beforeEach(() => {
  client = new HttpClient({ allowPrivate: true })
})
afterEach(() => client.close())

type Override = Partial<Omit<HttpRequest, 'url'>>
const send = (url: string, override: Override = {}) =>
  client.send({
    target: targetOf(new URL(url)),
    method: 'GET',
    headers: [],
    body: undefined,
    signal: new AbortController().signal,
    ...override,
  })

const failure = (code: string, message: string | RegExp) => ({
  ok: false,
  failure: { error: { code, message: expect.stringMatching(message) }, retryable: true },
})

/** A connection is offered again one turn of the event loop after its answer. */
const rested = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

test('an answer is kept with its status, a few headers, its body and its duration', async () => {
  const server = await httpServer((_request, response) => {
    response.writeHead(201, {
      'content-type': 'text/plain',
      location: '/x',
      'x-other': '1',
      'set-cookie': 'a=b',
    })
    response.end('made')
  })

  const result = await send(server.url)

  expect(result).toEqual({
    ok: true,
    response: {
      status: 201,
      headers: { 'content-type': 'text/plain', location: '/x', date: expect.any(String) },
      body: 'made',
      truncated: false,
      durationMs: expect.any(Number),
    },
  })
})

test.each([
  ['a HEAD', 'HEAD', 'HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n', 200, ''],
  ['a 204', 'DELETE', 'HTTP/1.1 204 No Content\r\n\r\n', 204, ''],
  ['a 304', 'GET', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n', 304, ''],
  [
    'chunks',
    'GET',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n',
    200,
    'abc',
  ],
  ['an interim answer', 'GET', `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${OK}`, 200, 'ok'],
])('%s is a whole answer', async (_name, method, bytes, status, body) => {
  const server = await answering(bytes)

  const result = await send(server.url, { method })

  expect(result).toMatchObject({ ok: true, response: { status, body, truncated: false } })
})

test('a body that ends with the connection is a whole answer', async () => {
  const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'))

  expect(await send(server.url)).toMatchObject({
    ok: true,
    response: { body: 'until the end', truncated: false },
  })
})

test('a compressed body is kept as the bytes that came', async () => {
  const bytes = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
  const server = await httpServer((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes)
  })

  const result = await send(server.url)

  expect(result).toMatchObject({ response: { body: bytes.toString('base64'), bodyEncoding: 'base64' } })
})

test('a long body is kept in part and drained, so that its connection is used again', async () => {
  const server = await httpServer((_request, response) => response.end('x'.repeat(MAX_DRAINED_BODY_BYTES)))

  const results = []
  for (let call = 0; call < 5; call++) results.push(await send(server.url))

  for (const result of results) {
    expect(result).toMatchObject({
      ok: true,
      response: { body: 'x'.repeat(MAX_KEPT_BODY_BYTES), truncated: true },
    })
  }
  expect(server.sockets.length).toBeLessThanOrEqual(2)
})

test('an endless body is an answer by its status, and its connection is destroyed', async () => {
  let sent = 0
  const server = await rawServer((socket) => {
    const chunk = Buffer.alloc(64 * 1024, 'x')
    const pour = () => {
      while (!socket.destroyed && socket.write(chunk)) sent += chunk.length
    }
    socket.on('drain', pour)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    pour()
  })

  const result = await send(server.url)
  await closed(server.sockets[0])

  expect(result).toMatchObject({ ok: true, response: { status: 200, truncated: true } })
  expect(sent).toBeLessThan(64 * MAX_DRAINED_BODY_BYTES)
})

test('a slow drip is left within 100 ms of the signal, and its connection is destroyed', async () => {
  const abort = new AbortController()
  const server = await httpServer((_request, response) => {
    const drip = setInterval(() => response.write('.'), 5)
    response.on('close', () => clearInterval(drip))
    response.write('.', () => abort.abort())
  })

  const sending = send(server.url, { signal: abort.signal })
  await once(abort.signal, 'abort')
  const abortedAt = performance.now()
  const result = await sending
  await closed(server.sockets[0])

  expect(result).toMatchObject({ ok: false, failure: { error: { code: 'aborted' } } })
  expect(performance.now() - abortedAt).toBeLessThan(30_000)
})

test('a request whose signal has already fired opens no connection', async () => {
  const server = await answering(OK)

  const result = await send(server.url, { signal: AbortSignal.abort() })

  expect(result).toMatchObject({ ok: false, failure: { error: { code: 'aborted' } } })
  expect(server.sockets).toHaveLength(0)
})

test('a request aborted while it waits for a connection is never sent', async () => {
  const abort = new AbortController()
  const paths: (string | undefined)[] = []
  const server = await httpServer((request, response) => {
    paths.push(request.url)
    response.end()
  })

  const aborted = send(`${server.url}aborted`, { signal: abort.signal })
  abort.abort()
  const results = [await aborted, await send(`${server.url}sent`)]

  expect(results.map(({ ok }) => ok)).toEqual([false, true])
  expect(paths).toEqual(['/sent'])
})

test('a refused port is a refused connection', async () => {
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

test('an unknown host is a name that was not found', async () => {
  const result = await send('http://nonexistent.invalid/')

  // A machine without a working resolver cannot tell, and says so.
  expect(result).toMatchObject({
    ok: false,
    failure: { error: { code: expect.stringMatching(/^dns_(not_found|unavailable)$/) }, retryable: true },
  })
})

test('a connection reset before an answer is told apart from one reset in the middle of a body', async () => {
  const early = await rawServer((socket) => socket.resetAndDestroy())
  const late = await rawServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome')
    // Two turns of the loop, so that the client has read: data and reset together look like an end to libuv.
    setImmediate(() => setImmediate(() => socket.resetAndDestroy()))
  })

  expect(await send(early.url)).toMatchObject(
    failure('connection_reset', /^connection reset by .* before it answered$/),
  )
  expect(await send(late.url)).toMatchObject(
    failure('connection_reset', /^connection reset by .* in the middle of its answer \(HTTP 200\)$/),
  )
})

test.each([
  ['before an answer', '', /closed the connection before it answered$/],
  ['inside the head', 'HTTP/1.1 200 OK\r\ncontent-', /closed the connection before it answered$/],
  [
    'inside a body',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf',
    /in the middle of its answer \(HTTP 200\)$/,
  ],
  [
    'inside a closing body',
    'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nhalf',
    /in the middle of its answer \(HTTP 200\)$/,
  ],
  [
    'inside a chunk',
    'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhalf',
    /in the middle of its answer \(HTTP 200\)$/,
  ],
])('a connection closed %s is a closed connection', async (_name, bytes, message) => {
  const server = await rawServer((socket) => socket.end(bytes))

  expect(await send(server.url)).toMatchObject(failure('connection_closed', message))
})

test('what arrived of an answer that was cut is kept', async () => {
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
])('%s is not valid HTTP', async (_name, bytes) => {
  const server = await answering(bytes)

  expect(await send(server.url)).toMatchObject(
    failure('protocol_error', /^127\.0\.0\.1:\d+ did not answer with valid HTTP: /),
  )
})

test('plain HTTP where TLS was expected is a TLS error', async () => {
  const server = await httpServer((_request, response) => response.end())

  const result = await send(server.url.replace('http:', 'https:'))

  expect(result).toMatchObject(failure('tls_error', /^no secure connection to 127\.0\.0\.1:\d+: /))
})

test('a handshake that never ends is a connect timeout', async () => {
  await client.close()
  client = new HttpClient({ allowPrivate: true, connectTimeoutMs: 50 })
  const server = await rawServer(() => {})

  const result = await send(server.url.replace('http:', 'https:'))

  expect(result).toMatchObject(failure('connect_timeout', /^no connection to 127\.0\.0\.1:\d+ in time$/))
})

test('a body that stands still is a body timeout', async () => {
  await client.close()
  client = new HttpClient({ allowPrivate: true, bodyIdleTimeoutMs: 50 })
  const server = await answering('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')

  const result = await send(server.url)

  expect(result).toMatchObject(
    failure('body_timeout', /stopped sending in the middle of its answer \(HTTP 200\)$/),
  )
})

test('a header that cannot be written fails for good', async () => {
  const server = await answering(OK)

  const result = await send(server.url, { headers: ['x-name', 'line\r\nbreak'] })

  expect(result).toMatchObject({
    ok: false,
    failure: { error: { code: 'invalid_request' }, retryable: false },
  })
})

test('calls one after another share their connections', async () => {
  const server = await httpServer((_request, response) => response.end('ok'))

  for (let call = 0; call < 20; call++) await send(server.url, { method: 'POST', body: '{}' })

  // Two take turns: a connection rests for one turn of the event loop after each answer.
  expect(server.sockets.length).toBeLessThanOrEqual(2)
})

test.each([
  ['closed', (socket: Socket) => socket.destroy()],
  ['reset', (socket: Socket) => socket.resetAndDestroy()],
])('a kept connection that was %s between two calls is replaced unnoticed', async (_name, end) => {
  let requests = 0
  const server = await rawServer((socket) => {
    requests++
    socket.write(OK)
  })
  await send(server.url, { method: 'POST', body: '{}' })
  await rested()

  const [stale] = server.sockets as [Socket]
  end(stale)
  const result = await send(server.url, { method: 'POST', body: '{}' })

  expect(result).toMatchObject({ ok: true })
  expect(server.sockets).toHaveLength(2)
  expect(requests).toBe(2)
})

test.each(['GET', 'POST'])(
  'a %s on a kept connection that closes instead of answering is not repeated',
  async (method) => {
    let requests = 0
    const server = await rawServer((socket) => {
      requests++
      if (requests === 1) socket.write(OK)
      else socket.destroy()
    })
    await send(server.url, { method })
    await rested()

    const result = await send(server.url, { method })

    expect(result).toMatchObject(failure('connection_closed', /closed the connection before it answered$/))
    expect(server.sockets).toHaveLength(1)
    expect(requests).toBe(2)
  },
)

test('200 calls at once all succeed', async () => {
  const server = await httpServer((request, response) => response.end(request.url))

  const results = await Promise.all(Array.from({ length: 200 }, (_, index) => send(`${server.url}${index}`)))

  expect(results.map((result) => result.ok && result.response.body)).toEqual(
    results.map((_, index) => `/${index}`),
  )
})

test('calls beyond the connection limit wait for a connection', async () => {
  const calls = MAX_CONNECTIONS_PER_ORIGIN + 50
  const server = await httpServer((_request, response) => setImmediate(() => response.end()))

  const results = await Promise.all(Array.from({ length: calls }, () => send(server.url)))

  expect(results.every(({ ok }) => ok)).toBe(true)
  expect(server.sockets).toHaveLength(MAX_CONNECTIONS_PER_ORIGIN)
})

test('an origin is forgotten when its last connection has closed', async () => {
  const server = await httpServer((_request, response) => response.setHeader('connection', 'close').end())

  await send(server.url)
  await closed(server.sockets[0])
  await expect.poll(() => client.openOrigins).toBe(0)
})

test('the origin used longest ago gives up its connections when there are too many', async () => {
  const servers = await Promise.all(
    Array.from({ length: MAX_ORIGINS + 1 }, () => httpServer((_request, response) => response.end())),
  )
  const [first, ...others] = servers
  await send(first?.url ?? '')
  // At once: an idle connection is kept for some seconds only, and one after the other they may take longer.
  await Promise.all(others.map(({ url }) => send(url)))
  await closed(first?.sockets[0])

  expect(client.openOrigins).toBe(MAX_ORIGINS)
  expect(servers.slice(1).every(({ sockets }) => sockets.every((other) => !other.closed))).toBe(true)
})

test('closing the client ends what is under way', async () => {
  const reached = new EventEmitter()
  const server = await rawServer(() => reached.emit('request'))
  const sending = send(server.url)
  await once(reached, 'request')

  await client.close()

  expect(await sending).toMatchObject({ ok: false, failure: { error: { code: 'aborted' }, retryable: true } })
})
