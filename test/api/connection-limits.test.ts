/** Clients that take their time, or more connections than there are. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'

const node = await startTestNode(await createTestDatabase(), {
  roles: 'api',
  headersTimeoutMs: 200,
  requestTimeoutMs: 600,
  maxConnections: 3,
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

test.each([
  ['a head that does not end', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n'],
  [
    'a body that does not end',
    'POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{',
  ],
])('%s is cut off', async (_, text) => {
  const socket = await open()
  // It goes on, so that only the time as a whole can end it.
  const drip = setInterval(() => socket.write('x'), 20)
  socket.write(text)

  const answer = await heard(socket)

  clearInterval(drip)
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*was not received in time/s)
})

test('a connection beyond the most is closed, and there is room again when another ends', async () => {
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
