/** What is sent for an action, and which outcome an answer comes to; redirects have http-redirects.test.ts. */
import { afterAll, expect, test } from 'vitest'
import { MASK } from '../../core/action/secret-rule.ts'
import { HttpClient } from '../../outgoing/http-client.ts'
import { createHttpExecutor, isExpected } from './http.ts'
import { anAttempt, http, rawServer, receiver, statusServer, unsigned } from './test-support.ts'

const client = new HttpClient({ allowPrivate: true })
const { execute } = createHttpExecutor({ client, userAgent: 'belfry/1.2.3', signer: unsigned })
afterAll(() => client.close())

test('a ping is a GET without a body', async () => {
  const { url, received } = await receiver()

  const outcome = await execute({ type: 'ping', url }, anAttempt())

  expect(outcome).toMatchObject({
    kind: 'completed',
    output: { status: 200, body: 'thanks', truncated: false },
  })
  expect(received).toMatchObject([{ method: 'GET', body: '' }])
  expect(received[0]?.headers).not.toHaveProperty('content-type')
})

test('a request with a header that contains only the mask is not sent', async () => {
  const { url, received } = await receiver()

  const outcome = await execute(http(url, { headers: { authorization: MASK } }), anAttempt())

  expect(outcome.kind).toBe('failed')
  expect(received).toEqual([])
})

test('every request says which run, task, instant, attempt and fence it belongs to', async () => {
  const { url, received } = await receiver()
  const now = () => Date.UTC(2026, 0, 2, 3, 4, 7, 999)

  await execute({ type: 'webhook', url, body: {} }, anAttempt({ now }))

  const headers = received[0]?.headers
  expect(headers).toMatchObject({
    'webhook-id': '0198c0de-0000-7000-8000-000000000001',
    'belfry-task-id': '0198c0de-0000-7000-8000-000000000002',
    'belfry-scheduled-for': '2026-01-02T03:04:05.006Z',
    'belfry-attempt': '2',
    'belfry-fence': '7',
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    'user-agent': 'belfry/1.2.3',
    'accept-encoding': 'identity',
    'webhook-timestamp': String(Date.UTC(2026, 0, 2, 3, 4, 7) / 1000),
  })
})

test.each([
  [{ a: [1, 'ü', null] }, '{"a":[1,"ü",null]}'],
  [null, 'null'],
  [0, '0'],
  ['{"already": "text"}', '{"already": "text"}'],
])('a webhook body of %j is sent as %s', async (body, sent) => {
  const { url, received } = await receiver()

  await execute({ type: 'webhook', url, body }, anAttempt())

  expect(received).toMatchObject([
    { method: 'POST', body: sent, headers: { 'content-type': 'application/json' } },
  ])
})

test('a webhook without a body is an empty POST', async () => {
  const { url, received } = await receiver()

  await execute({ type: 'webhook', url }, anAttempt())

  expect(received).toMatchObject([{ method: 'POST', body: '', headers: { 'content-length': '0' } }])
  expect(received[0]?.headers).not.toHaveProperty('content-type')
})

test('an http action sends its method, headers, body and content type', async () => {
  const { url, received } = await receiver()
  const headers = { 'Content-Type': 'text/plain', Authorization: 'Bearer secret', 'x-one': '1' }

  await execute(http(`${url}path?q=1`, { method: 'PUT', headers, body: 'plain' }), anAttempt())

  expect(received).toMatchObject([
    {
      method: 'PUT',
      body: 'plain',
      headers: { 'content-type': 'text/plain', authorization: 'Bearer secret', 'x-one': '1' },
    },
  ])
})

test.each([
  'Host',
  'content-length',
  'Transfer-Encoding',
  'connection',
  'webhook-id',
  'Belfry-Fence',
  'traceparent',
])('the header %s cannot be set by an action', async (name) => {
  const { url, received } = await receiver()

  const outcome = await execute(http(url, { headers: { [name]: 'x' } }), anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'forbidden_header' } })
  expect(received).toEqual([])
})

test.each([200, 201, 202, 204, 299])('status %i completes', async (status) => {
  const { url } = await statusServer(status)

  expect(await execute({ type: 'ping', url }, anAttempt())).toMatchObject({
    kind: 'completed',
    output: { status },
  })
})

test.each([408, 425, 429, 500, 502, 503, 504, 599])('status %i fails and may be retried', async (status) => {
  const { url } = await statusServer(status)

  expect(await execute({ type: 'ping', url }, anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: true,
    error: { code: 'http_status', message: `HTTP ${status} from ${new URL(url).host}`, detail: { status } },
    output: { status, body: 'why' },
  })
})

test.each([400, 401, 403, 404, 409, 410, 422, 451, 600])('status %i fails permanently', async (status) => {
  const { url } = await statusServer(status)

  expect(await execute({ type: 'ping', url }, anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: { code: 'http_status', message: `HTTP ${status} from ${new URL(url).host}` },
  })
})

test('a receiver that exceeds its time to respond has timed out', async () => {
  const { url } = await rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\n'))

  const outcome = await execute(http(url, { firstByteTimeout: '20ms' }), anAttempt())

  expect(outcome).toMatchObject({
    kind: 'failed',
    retryable: true,
    error: { code: 'first_byte_timeout', message: `${new URL(url).host} did not respond in time` },
  })
})

test('a connection that is not established in time fails with connect_timeout', async () => {
  const { url, sockets } = await rawServer(() => {})
  const secure = url.replace('http:', 'https:')

  const outcome = await execute(http(secure, { connectTimeout: '20ms' }), anAttempt())

  expect(outcome).toMatchObject({
    kind: 'failed',
    retryable: true,
    error: { code: 'connect_timeout', message: `timed out connecting to ${new URL(url).host}` },
  })
  expect(sockets.length).toBeLessThanOrEqual(1)
})

test.each([429, 503])('Retry-After is honoured with status %i, as seconds or as a date', async (status) => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT'
  const seconds = await statusServer(status, { 'retry-after': '7' })
  const instant = await statusServer(status, { date, 'retry-after': 'Wed, 21 Oct 2026 07:28:09 GMT' })

  expect(await execute({ type: 'ping', url: seconds.url }, anAttempt())).toMatchObject({
    retryAfterMs: 7_000,
  })
  expect(await execute({ type: 'ping', url: instant.url }, anAttempt())).toMatchObject({
    retryAfterMs: 9_000,
  })
})

test('Retry-After is ignored with another status or when it is invalid', async () => {
  const other = await statusServer(500, { 'retry-after': '7' })
  const unreadable = await statusServer(503, { 'retry-after': 'later' })

  expect(await execute({ type: 'ping', url: other.url }, anAttempt())).not.toHaveProperty('retryAfterMs')
  expect(await execute({ type: 'ping', url: unreadable.url }, anAttempt())).not.toHaveProperty('retryAfterMs')
})

test('expect decides what completes, also for redirects and errors', async () => {
  const missing = await statusServer(404)
  const moved = await statusServer(302)
  const fine = await statusServer(200)

  expect(await execute(http(missing.url, { expect: [200, 404] }), anAttempt())).toMatchObject({
    kind: 'completed',
  })
  expect(await execute(http(moved.url, { expect: ['3xx'] }), anAttempt())).toMatchObject({
    kind: 'completed',
  })
  expect(await execute(http(fine.url, { expect: [201, '3xx'] }), anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: { message: `HTTP 200 from ${new URL(fine.url).host}, expected 201, 3xx` },
  })
})

test('a status is expected by number, by the same as text, or by class', () => {
  expect(isExpected(200, [200])).toBe(true)
  expect(isExpected(200, ['200'])).toBe(true)
  expect(isExpected(204, ['2XX'])).toBe(true)
  expect(isExpected(200, [])).toBe(false)
  expect(isExpected(200, ['3xx', 201, 'xx', '20xx'])).toBe(false)
})

test('an expected status whose body was cut fails and may be retried', async () => {
  const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'))

  expect(await execute({ type: 'ping', url: server.url }, anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: true,
    error: { code: 'connection_closed' },
    output: { status: 200, body: 'half', truncated: true },
  })
})

test('an unexpected status decides the outcome even if the body was cut', async () => {
  const server = await rawServer((socket) =>
    socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\nhalf'),
  )

  expect(await execute({ type: 'ping', url: server.url }, anAttempt())).toMatchObject({
    kind: 'failed',
    retryable: false,
    error: { code: 'http_status' },
    output: { body: 'half', truncated: true },
  })
})

test.each([
  'not a url',
  '/relative',
  'ftp://example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'http://user@127.0.0.1/',
  'http://user:secret@127.0.0.1/',
  'http://',
])('%j is refused as a URL', async (url) => {
  const outcome = await execute({ type: 'ping', url }, anAttempt())

  expect(outcome).toMatchObject({ kind: 'failed', retryable: false, error: { code: 'invalid_url' } })
  expect(JSON.stringify(outcome)).not.toContain('secret')
})
