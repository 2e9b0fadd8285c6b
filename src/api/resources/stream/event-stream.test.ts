/** A client that does not read, over a real socket. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { EventStream } from './event-stream.ts'

const server = createServer()
await once(server.listen(0, '127.0.0.1'), 'listening')
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Both ends of a stream. The client reads nothing until the test lets it. */
async function connect(onEnd = () => {}) {
  const arrived = once(server, 'request')
  const asked = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' })
  asked.on('error', () => {})
  asked.end()
  const [, response] = (await arrived) as [IncomingMessage, ServerResponse]
  const reload = () => ({ event: 'reload', data: '{"reason":"behind"}', id: 2 }) as const
  const stream = new EventStream({ response, headers: { 'x-test': 'yes' }, reload, onEnd })
  stream.adviseRetry(1)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return { response, stream, asked, answer }
}

const KILOBYTE = 1024
const big = { event: 'changes', data: JSON.stringify('x'.repeat(256 * KILOBYTE)), id: 1 } as const
/** More than the buffers of any kernel hold. */
const MANY = 200

test('changes are not buffered for a client that does not read, and it receives reload later', async () => {
  const { response, stream, answer } = await connect()
  for (let i = 0; i < MANY; i++) {
    stream.send(big)
    // Lets the kernel take what it wants, which is when a fast client would be read from.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const kept = response.writableLength

  let text = ''
  let bytes = 0
  for await (const chunk of answer) {
    bytes += chunk.length
    text = (text + chunk).slice(-200)
    if (text.includes('reload')) break
  }

  expect(kept).toBeLessThan(2 * big.data.length)
  expect(bytes).toBeLessThan((MANY / 2) * big.data.length)
  expect(text).toContain('event: reload\nid: 2\ndata: {"reason":"behind"}\n\n')
  response.destroy()
})

test('a stream ends for a client that reads, and is cut for one that does not', async () => {
  let endings = 0
  const reading = await connect(() => endings++)
  const stuck = await connect(() => endings++)
  for (let i = 0; i < MANY && !stuck.response.writableNeedDrain; i++) stuck.stream.send(big)
  const cut = once(stuck.response, 'close')

  reading.stream.end()
  stuck.stream.end()

  await Promise.all([once(reading.answer.resume(), 'end'), cut, once(reading.response, 'close')])
  expect(endings).toBe(2)
  reading.stream.send(big)
})

test('a client that goes away is noticed', async () => {
  let resolve: () => void = () => {}
  const noticed = new Promise<void>((done) => {
    resolve = done
  })
  const { asked, answer } = await connect(resolve)

  expect(answer.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-test': 'yes' })
  asked.destroy()

  await noticed
})
