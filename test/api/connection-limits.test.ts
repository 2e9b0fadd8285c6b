/** Clients that take their time, or more connections than there are. */
import { once } from 'node:events'
import { get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startOneNode } from '../support/node.ts'

const node = await startOneNode(await createTestDatabase(), {
  roles: 'api',
  headersTimeoutMs: 200,
  requestTimeoutMs: 600,
  maxConnections: 3,
  maxHeaderBytes: 4_096,
  responseTimeoutMs: 400,
  maxStreams: 2,
})

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(node.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket
}

/** What is heard until the other side ends the connection. */
async function heard(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  if (!socket.closed) await once(socket, 'close')
  return text
}

/** Begins to follow a stream. */
function follow(path: string): Promise<{ status: number; end: () => void }> {
  return new Promise((resolve, reject) => {
    const request = get(node.url + path, { agent: false }, ({ statusCode = 0 }) =>
      resolve({ status: statusCode, end: () => request.destroy() }),
    ).on('error', reject)
  })
}

test.each([
  ['a head that does not end', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n'],
  [
    'a body that does not end',
    'POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{',
  ],
])('%s gets 400 after the time limit', async (_, text) => {
  const socket = await open()
  // It goes on, so that only the time as a whole can end it.
  const drip = setInterval(() => socket.write('x'), 20)
  socket.write(text)

  const answer = await heard(socket)

  clearInterval(drip)
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*was not received in time/s)
})

test('headers that are too large get 431', async () => {
  const socket = await open()
  socket.write(`GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: ${'x'.repeat(5_000)}\r\n\r\n`)

  expect(await heard(socket)).toMatch(/^HTTP\/1\.1 431 .*"code":"headers_too_large"/s)
})

test('a client that does not read its answers loses its connection', async () => {
  const socket = await open()
  socket.pause()
  // More than what the system takes off our hands.
  socket.write('GET /docs/js/scalar.js HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(8))

  // Who does not read learns of the end by writing.
  const drip = setInterval(() => socket.write('\r\n'), 50)
  const [error] = await once(socket, 'error', { signal: AbortSignal.timeout(20_000) })

  clearInterval(drip)
  expect((error as NodeJS.ErrnoException).code).toMatch(/ECONNRESET|EPIPE/)
  expect(socket.bytesRead).toBeLessThan(8 * 1024 * 1024)
})

test('a caller that exceeds the limit of open streams, of any kind, gets 429', async () => {
  const first = await follow('/v1/stream')
  const second = await follow('/v1/events')
  const third = await follow('/v1/stream')
  first.end()
  const fourth = await eventually(async () => {
    const opened = await follow('/v1/stream')
    return opened.status === 200 && opened
  })

  expect([first.status, second.status, third.status]).toEqual([200, 200, 429])
  for (const { end } of [second, third, fourth]) end()
})

test('a connection over the limit is closed, and another is accepted once one ends', async () => {
  const held = await Promise.all([open(), open(), open()])

  expect(await heard(await open())).toBe('')

  for (const socket of held) socket.destroy()
  await expect
    .poll(() =>
      node.request('GET', '/healthz').then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200)
})
