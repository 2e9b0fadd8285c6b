/** Belfry cannot call itself, whatever name or address of its machine it is called by. */
import { networkInterfaces } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpExecutor } from '../worker/executors/http.ts'
import { anAttempt, http, httpServer, receiver, unsigned } from '../worker/executors/test-support.ts'
import { HttpClient } from './http-client.ts'
import { OwnPorts } from './own-ports.ts'

/** A server that is this process's own, and an executor that knows. */
async function own() {
  const server = await receiver()
  const { port } = new URL(server.url)
  const ports = new OwnPorts()
  ports.add(Number(port))
  const client = new HttpClient({ allowPrivate: true, own: ports })
  onTestFinished(() => client.close())
  return { ...server, port, ...createHttpExecutor({ client, userAgent: 'belfry/1.2.3', signer: unsigned }) }
}

const MACHINE = Object.values(networkInterfaces())
  .flatMap((found) => found ?? [])
  .filter(({ address }) => !address.startsWith('fe80:'))
  .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))

test.each([
  '127.0.0.1',
  '127.0.0.2',
  '127.1',
  '2130706433',
  '0x7f000001',
  'localhost',
  'LOCALHOST',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '0.0.0.0',
  '[::]',
  ...MACHINE,
])("Belfry's own port is not called at %s", async (host) => {
  const { execute, received, port } = await own()

  const outcome = await execute({ type: 'ping', url: `http://${host}:${port}/` }, anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'forbidden_address' } })
  expect(received).toEqual([])
})

test("the refusal names Belfry's own port", async () => {
  const { execute, url } = await own()

  expect(await execute({ type: 'ping', url }, anAttempt())).toMatchObject({
    error: { message: expect.stringMatching(/Belfry's own/) },
  })
})

test("a redirect to Belfry's own port is refused", async () => {
  const { execute, received, url } = await own()
  const from = await httpServer((_, response) => response.writeHead(307, { location: url }).end())

  const outcome = await execute(http(from.url, { method: 'POST', body: {}, followRedirects: 1 }), anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'forbidden_address' } })
  expect(received).toEqual([])
})

test('other ports of the machine are called as the policy allows', async () => {
  const { execute } = await own()
  const other = await receiver()

  expect(await execute({ type: 'ping', url: other.url }, anAttempt())).toMatchObject({ kind: 'completed' })
})
