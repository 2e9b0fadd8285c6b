/** Redirects: not followed unless a task asks for it, and then within bounds and without its secrets. */
import type { IncomingHttpHeaders } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import type { HttpAction } from '../../core/action/action.ts'
import { HttpClient } from '../../outgoing/http-client.ts'
import { createHttpExecutor } from './http.ts'
import {
  anAttempt,
  http,
  httpServer,
  type Received,
  receiver,
  statusServer,
  unsigned,
} from './test-support.ts'

const client = new HttpClient({ allowPrivate: true })
const { execute } = createHttpExecutor({ client, userAgent: 'belfry/1.2.3', signer: unsigned })
afterAll(() => client.close())

test.each([301, 302, 303, 307, 308])(
  'a redirect with status %i fails permanently and is not followed',
  async (status) => {
    const { url, received } = await receiver()
    const from = await statusServer(status, { location: url })

    const outcome = await execute({ type: 'ping', url: from.url }, anAttempt())

    expect(outcome).toMatchObject({
      kind: 'failed',
      retryable: false,
      error: { message: expect.stringContaining('redirects are not followed') },
      output: { headers: { location: url } },
    })
    expect(received).toEqual([])
  },
)

test.each([300, 304])('status %i is not reported as a redirect', async (status) => {
  const { url } = await statusServer(status)

  const outcome = await execute({ type: 'ping', url }, anAttempt())

  const message = `HTTP ${status} from ${new URL(url).host}`
  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { message } })
})

/** A server that sends every request on; it remembers what it was sent. */
async function redirector(status: number, location: (url: string) => string) {
  const received: Received[] = []
  const server = await httpServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ method: request.method, headers: request.headers, body })
    response.writeHead(status, { location: location(server.url) }).end()
  })
  return { url: server.url, received }
}

test.each<[number, HttpAction['method'], string, string]>([
  [301, 'GET', 'GET', ''],
  [301, 'POST', 'GET', ''],
  [302, 'POST', 'GET', ''],
  [302, 'PUT', 'PUT', '{"a":1}'],
  [303, 'PUT', 'GET', ''],
  [303, 'HEAD', 'HEAD', ''],
  [307, 'POST', 'POST', '{"a":1}'],
  [308, 'DELETE', 'DELETE', '{"a":1}'],
])('after a redirect with %i a %s request becomes %s', async (status, method, then, body) => {
  const to = await receiver()
  const from = await redirector(status, () => to.url)
  const withBody = method === 'GET' || method === 'HEAD' ? {} : { body: { a: 1 } }

  const outcome = await execute(http(from.url, { method, ...withBody, followRedirects: 1 }), anAttempt())

  expect(outcome).toMatchObject({ kind: 'completed', output: { status: 200 } })
  expect(to.received).toMatchObject([{ method: then, body }])
  expect(to.received[0]?.headers['content-type']).toBe(body === '' ? undefined : 'application/json')
  expect(to.received[0]?.headers['webhook-id']).toBe(from.received[0]?.headers['webhook-id'])
})

test('custom headers are not sent to another origin, not even after a redirect back', async () => {
  const elsewhere = await redirector(307, () => `${home.url}back`)
  const home = await httpServer((request, response) => {
    seen.push(request.headers)
    if (request.url === '/back') response.end()
    else response.writeHead(307, { location: request.url === '/' ? '/here' : elsewhere.url }).end()
  })
  const seen: IncomingHttpHeaders[] = []
  const headers = { authorization: 'secret', 'x-api-key': 'secret', 'content-type': 'text/plain' }

  const outcome = await execute(
    http(home.url, { method: 'POST', headers, body: 'x', followRedirects: 5 }),
    anAttempt(),
  )

  expect(outcome).toMatchObject({ kind: 'completed' })
  expect(seen.map(({ authorization }) => authorization)).toEqual(['secret', 'secret', undefined])
  expect(elsewhere.received[0]?.headers).toMatchObject({ 'content-type': 'text/plain' })
  for (const name of ['authorization', 'x-api-key'])
    expect(elsewhere.received[0]?.headers).not.toHaveProperty(name)
})

test('a signature is not sent to another origin', async () => {
  const elsewhere = await receiver()
  const home = await redirector(307, () => elsewhere.url)
  const signing = createHttpExecutor({
    client,
    userAgent: 'belfry/1.2.3',
    signer: { sign: () => 'v1,signature' },
  })

  await signing.execute(http(home.url, { method: 'POST', body: 'x', followRedirects: 1 }), anAttempt())

  expect(home.received[0]?.headers['webhook-signature']).toBe('v1,signature')
  expect(elsewhere.received).toMatchObject([{ method: 'POST', body: 'x' }])
  expect(elsewhere.received[0]?.headers).not.toHaveProperty('webhook-signature')
})

test('a redirect loop fails permanently at the limit of redirects', async () => {
  const { url, received } = await redirector(302, (own) => `${own}again`)

  const outcome = await execute(http(url, { followRedirects: 3 }), anAttempt())

  expect(outcome).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: {
      code: 'too_many_redirects',
      message: `more than 3 redirects, the last one from ${new URL(url).host}`,
    },
    output: { status: 302 },
  })
  expect(received).toHaveLength(4)
})

test.each([
  ['file:///etc/passwd', 'must start with http:// or https://, not file:'],
  ['http://user:password@localhost/', 'must not contain a user name or password; send them in a header'],
  ['http://[', 'is not a valid URL'],
])('a redirect to %s is refused', async (location, why) => {
  const { url } = await redirector(302, () => location)

  const outcome = await execute(http(url, { followRedirects: 3 }), anAttempt())

  expect(outcome).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: { code: 'redirect_refused', message: `${new URL(url).host} redirects to an address which ${why}` },
  })
})

test('a redirect to a forbidden address is refused like a direct request', async () => {
  const { url } = await redirector(302, () => 'http://169.254.169.254/latest/meta-data/')

  const outcome = await execute(http(url, { followRedirects: 3 }), anAttempt())

  expect(outcome).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: { code: 'forbidden_address', message: expect.stringContaining('169.254.169.254') },
  })
})

test('an expected redirect, or one without a location, counts as the response', async () => {
  const { url } = await redirector(302, (own) => own)
  const nowhere = await statusServer(302)

  expect(await execute(http(url, { followRedirects: 3, expect: [302] }), anAttempt())).toMatchObject({
    kind: 'completed',
  })
  expect(await execute(http(nowhere.url, { followRedirects: 3 }), anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: { code: 'http_status', message: `HTTP 302 from ${new URL(nowhere.url).host}` },
  })
})

test('a body that contains secrets is not sent to another origin', async () => {
  const to = await receiver()
  const from = await redirector(307, () => to.url)
  const action = http(from.url, { method: 'POST', body: 'a secret', followRedirects: 1 })

  const outcome = await execute(action, anAttempt({ secrets: ['TOKEN'] }))

  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'redirect_refused' } })
  expect(from.received).toHaveLength(1)
  expect(to.received).toEqual([])
})
