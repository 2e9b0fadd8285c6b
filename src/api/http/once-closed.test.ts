import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { onceClosed } from './once-closed.ts'

/** The response to a request whose client is gone or not, as a server has it. */
async function aResponse({ isGone }: { isGone: boolean }): Promise<ServerResponse> {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const client = get({ port: (server.address() as AddressInfo).port }).on('error', () => {})
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  if (isGone) {
    const closed = once(response, 'close')
    client.destroy()
    await closed
  }
  return response
}

test('a client that left before the listener was added is noticed at once', async () => {
  const response = await aResponse({ isGone: true })
  let calls = 0

  onceClosed(response, () => calls++)

  expect(calls).toBe(1)
})

test('a response is closed once, when it has ended', async () => {
  const response = await aResponse({ isGone: false })
  let calls = 0
  onceClosed(response, () => calls++)
  const before = calls

  response.end('done')
  await once(response, 'close')

  expect([before, calls]).toEqual([0, 1])
})
