/** Answers as they are kept, and requests that are given up. */
import { EventEmitter, once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { answering, closed, httpServer, OK, rawServer, sendBy } from '../worker/executors/test-support.ts'
import { MAX_DRAINED_BODY_BYTES, MAX_KEPT_BODY_BYTES } from './body-capture.ts'
import { HttpClient } from './http-client.ts'
import { SettingsUnread } from './project-networks.ts'

let client: HttpClient
beforeEach(() => {
  client = new HttpClient({ allowPrivate: true })
})
afterEach(() => client.close())
const send = (url: string, override: Parameters<typeof sendBy>[2] = {}) => sendBy(client, url, override)

test('a response is kept with its status, selected headers, body and duration', async () => {
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
])('%s is a complete response', async (_name, method, bytes, status, body) => {
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

test('a compressed body is kept as the bytes received', async () => {
  const bytes = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
  const server = await httpServer((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes)
  })

  const result = await send(server.url)

  expect(result).toMatchObject({ response: { body: bytes.toString('base64'), bodyEncoding: 'base64' } })
})

test('a long body is truncated and drained, so that its connection is reused', async () => {
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

test('an endless body is truncated, and its connection is destroyed', async () => {
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

test('a slow response ends at the signal, and its connection is destroyed', async () => {
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

test('closing the client aborts requests under way', async () => {
  const reached = new EventEmitter()
  const server = await rawServer(() => reached.emit('request'))
  const sending = send(server.url)
  await once(reached, 'request')

  await client.close()

  expect(await sending).toMatchObject({ ok: false, failure: { error: { code: 'aborted' }, retryable: true } })
})

test('while the networks of its project cannot be read, a request is not sent, and is retryable', async () => {
  let requests = 0
  const server = await httpServer((_request, response) => {
    requests++
    response.end()
  })
  const unread = new HttpClient({
    allowPrivate: true,
    projectNetworks: { of: () => Promise.reject(new SettingsUnread(new Error('no database'))) },
  })

  const result = await sendBy(unread, server.url, { projectId: 'shop' })

  expect(result).toMatchObject({
    ok: false,
    failure: { error: { code: 'settings_unavailable' }, retryable: true },
  })
  expect(requests).toBe(0)
  await unread.close()
})
