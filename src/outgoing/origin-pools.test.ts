/** Connections: kept, shared, replaced when they are stale, and bounded. */
import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aNameServer } from '../../test/support/name-server.ts'
import { closed, failure, httpServer, OK, rawServer, sendBy } from '../worker/executors/test-support.ts'
import { HttpClient } from './http-client.ts'
import { NameResolver } from './names/name-resolver.ts'
import { MAX_IDLE_ORIGINS } from './origin-pools.ts'

let client: HttpClient
beforeEach(() => {
  client = new HttpClient({ allowPrivate: true })
})
afterEach(() => client.close())
const send = (url: string, override: Parameters<typeof sendBy>[2] = {}) => sendBy(client, url, override)

/** A connection is offered again one turn of the event loop after its answer. */
const rested = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

test('consecutive calls share one connection', async () => {
  const server = await httpServer((_request, response) => response.end('ok'))

  for (let call = 0; call < 20; call++) await send(server.url, { method: 'POST', body: '{}' })

  expect(server.sockets).toHaveLength(1)
})

test('calls use the most recently used connection', async () => {
  const server = await httpServer((_request, response) => setImmediate(() => response.end('ok')))
  await Promise.all(Array.from({ length: 5 }, () => send(server.url)))
  const used = new Set<Socket>()
  for (const socket of server.sockets) socket.on('data', () => used.add(socket))

  for (let call = 0; call < 20; call++) await send(server.url)

  expect([server.sockets.length, used.size]).toEqual([5, 1])
})

test.each([
  ['closed', (socket: Socket) => socket.destroy()],
  ['reset', (socket: Socket) => socket.resetAndDestroy()],
])('an idle connection that was %s between two calls is replaced without an error', async (_name, end) => {
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
  'a %s on an idle connection that closes without a response is not repeated',
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

    expect(result).toMatchObject(failure('connection_closed', /closed the connection before responding$/))
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
  await client.close()
  client = new HttpClient({ allowPrivate: true, connectionsPerOrigin: 20 })
  const server = await httpServer((_request, response) => setImmediate(() => response.end()))

  const results = await Promise.all(Array.from({ length: 70 }, () => send(server.url)))

  expect(results.every(({ ok }) => ok)).toBe(true)
  expect(server.sockets).toHaveLength(20)
})

test('an origin is forgotten when its last connection has closed', async () => {
  const server = await httpServer((_request, response) => response.setHeader('connection', 'close').end())

  await send(server.url)
  await closed(server.sockets[0])
  await expect.poll(() => client.openOrigins, { timeout: 60_000 }).toBe(0)
})

test('many hanging origins do not prevent calls to another origin or close its connection', async () => {
  await client.close()
  const { server } = await aNameServer(() => ({ addresses: ['127.0.0.1'] }))
  client = new HttpClient({ allowPrivate: true, resolver: new NameResolver({ servers: [server] }) })
  const hanging = await rawServer(() => {})
  const healthy = await httpServer((_request, response) => response.end('here'))
  const stops = Array.from({ length: MAX_IDLE_ORIGINS + 50 }, () => new AbortController())
  const calls = stops.map(({ signal }, i) => send(`http://${i}.example.com:${hanging.port}/`, { signal }))
  await expect.poll(() => hanging.sockets.length, { timeout: 60_000 }).toBe(calls.length)

  for (let call = 0; call < 20; call++) {
    expect(await send(healthy.url)).toMatchObject({ ok: true, response: { body: 'here' } })
  }
  for (const stop of stops) stop.abort()
  const results = await Promise.all(calls)

  expect(healthy.sockets).toHaveLength(1)
  expect(results.every((result) => !result.ok && result.failure.error.code === 'aborted')).toBe(true)
})

test('idle connections are limited over all origins, and connections in use stay open', async () => {
  await client.close()
  client = new HttpClient({ allowPrivate: true, idleConnections: 20 })
  const answers: (() => void)[] = []
  const slow = await httpServer((_request, response) => answers.push(() => response.end('slow')))
  const underWay = send(slow.url)
  const servers = await Promise.all(
    Array.from({ length: 10 }, () => httpServer((_request, response) => setImmediate(() => response.end()))),
  )

  await Promise.all(servers.flatMap(({ url }) => Array.from({ length: 10 }, () => send(url))))
  expect(client.idleConnections).toBeLessThanOrEqual(20)

  const open = () => servers.flatMap(({ sockets }) => sockets).filter((socket) => !socket.closed).length
  await expect.poll(open, { timeout: 60_000 }).toBeLessThanOrEqual(20)
  for (const answer of answers) answer()
  expect(await underWay).toMatchObject({ ok: true, response: { body: 'slow' } })
})

test('calls to a single origin respect the limit of idle connections', async () => {
  await client.close()
  client = new HttpClient({ allowPrivate: true, idleConnections: 5 })
  const server = await httpServer((_request, response) => setImmediate(() => response.end()))

  const results = await Promise.all(Array.from({ length: 100 }, () => send(server.url)))

  expect(results.every(({ ok }) => ok)).toBe(true)
  const open = () => server.sockets.filter((socket) => !socket.closed).length
  await expect.poll(open, { timeout: 60_000 }).toBeLessThanOrEqual(5)
})

test('the least recently used origin loses its idle connections when there are too many origins', async () => {
  const servers = await Promise.all(
    Array.from({ length: MAX_IDLE_ORIGINS + 1 }, () => httpServer((_request, response) => response.end())),
  )
  const [first, ...others] = servers
  await send(first?.url ?? '')
  // At once: an idle connection is kept for some seconds only, and one after the other they may take longer.
  await Promise.all(others.map(({ url }) => send(url)))
  await closed(first?.sockets[0])

  expect(client.openOrigins).toBe(MAX_IDLE_ORIGINS)
  expect(servers.slice(1).every(({ sockets }) => sockets.every((other) => !other.closed))).toBe(true)
})
