/** What a page of another site can do through the browser of somebody who runs Belfry: nothing. */
import { readdirSync, readFileSync } from 'node:fs'
import { request as ask } from 'node:http'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { createTestApp, storedIn } from './test-app.ts'

const PROXY = 'https://belfry.example.com'
const database = await createTestDatabase()
const { app, send } = await createTestApp(database, { allowedOrigins: [PROXY] })
const node = await startTestNode(database, { roles: 'api', allowedOrigins: PROXY })

interface Operation {
  readonly responses: Record<string, unknown>
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
}
interface Document {
  readonly paths: Record<string, Record<string, Operation>>
}
const { paths } = app.swagger() as unknown as Document
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
    method: method.toUpperCase(),
    path,
    url: path.replaceAll(/\{\w+\}/g, '01900000-0000-7000-8000-000000000000'),
    responses,
  })),
)
const writes = operations.filter(({ method }) => method !== 'GET')
const reads = operations.filter(({ method }) => method === 'GET')

const EVIL = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
/** What a page can send without asking the server first. */
const UNASKED = [
  undefined,
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
]

test.each(writes)('$method $path refuses pages of other sites and documents the 403', async (operation) => {
  const { method, url, responses } = operation
  const before = await storedIn(database.db)

  for (const type of [...UNASKED, 'application/json']) {
    const body = type === undefined ? undefined : '{}'
    const headers = type === undefined ? EVIL : { ...EVIL, 'content-type': type }
    const answer = await send(method, url, body, headers)

    expect(answer.status, type).toBe(403)
    expect(answer.body.code).toBe('foreign_origin')
  }

  expect(await storedIn(database.db)).toBe(before)
  expect(Object.keys(responses)).toContain('403')
})

test.each(reads)('the response to GET $path cannot be read by other sites', async ({ url }) => {
  const { headers } = await send('GET', url, undefined, EVIL)

  expect(headers).toMatchObject({
    'cross-origin-resource-policy': 'same-origin',
    'x-frame-options': 'DENY',
  })
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
})

test.each([
  '/',
  '/docs',
  '/docs/',
  '/docs/openapi.json',
  '/docs/openapi.yaml',
  '/openapi.json',
  '/nothing',
  '/v1/tasks/%zz',
])('%s can be neither framed nor read by pages of other sites', async (url) => {
  const { headers } = await send('GET', url, undefined, EVIL)

  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'content-security-policy': expect.stringMatching(/^default-src 'none'.*frame-ancestors 'none'$/),
  })
  expect(String(headers['content-security-policy'])).not.toMatch(/script-src[^;]*'unsafe/)
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
})

test('a page of an allowed origin can read responses, without cookies', async () => {
  const named = { origin: PROXY, 'sec-fetch-site': 'cross-site' }

  const asked = await send('OPTIONS', '/v1/tasks', undefined, {
    ...named,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  })
  const answers = await Promise.all([
    send('GET', '/v1/tasks', undefined, named),
    send('GET', '/v1/tasks/nothing', undefined, named),
    send('GET', '/v1/stream', undefined, named),
  ])

  expect(asked).toMatchObject({
    status: 204,
    headers: {
      'access-control-allow-origin': PROXY,
      'access-control-allow-methods': expect.stringContaining('DELETE'),
      'access-control-allow-headers': expect.stringContaining('authorization'),
    },
  })
  for (const { headers } of [asked, ...answers]) {
    expect(headers).toMatchObject({ 'access-control-allow-origin': PROXY, vary: 'origin' })
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
  }
})

/** Headers that only browsers themselves set. */
const OF_BROWSERS = new Set([
  ...['accept-encoding', 'access-control-request-method', 'content-length'],
  ...['sec-fetch-site', 'transfer-encoding', 'user-agent'],
])

test('a page of an allowed origin can send every header that the API reads', async () => {
  const documented = Object.values(paths)
    .flatMap((path) => Object.values(path))
    .flatMap(({ parameters = [] }) =>
      parameters.flatMap(({ in: where, name }) => (where === 'header' ? name : [])),
    )
  const code = ['src/api', 'src/core']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
    )
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
  const read = [...code.matchAll(/headers\['([a-z-]+)'\]|_HEADER = '([a-z-]+)'/g)].map(
    ([, a, b]) => a ?? b ?? '',
  )
  const needed = new Set(
    [...documented, ...read, 'authorization', 'content-type'].map((name) => name.toLowerCase()),
  )

  const { headers } = await send('OPTIONS', '/v1/tasks', undefined, {
    ...{ origin: PROXY, 'access-control-request-method': 'POST' },
  })

  const allowed = new Set(String(headers['access-control-allow-headers']).split(', '))
  expect(needed).toContain('belfry-project')
  expect([...needed].filter((name) => !allowed.has(name) && !OF_BROWSERS.has(name))).toEqual([])
})

test('a preflight request from an origin that is not allowed gets no CORS headers', async () => {
  const { status, headers } = await send('OPTIONS', '/v1/tasks', undefined, {
    ...EVIL,
    'access-control-request-method': 'POST',
  })

  expect(status).toBe(204)
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
})

test('the refusal names the origin and what to set when it is a proxy', async () => {
  const { body } = await send('POST', '/v1/queues/default/pause', undefined, EVIL)

  expect(body).toMatchObject({
    status: 403,
    title: 'Cross-site request refused',
    detail: expect.stringMatching(
      /a page of https:\/\/evil\.example,.*--public-url https:\/\/evil\.example\..*--allowed-origins https:\/\/evil\.example\.$/,
    ),
  })
})

test.each<[string, Record<string, string>]>([
  ['another port of this machine', { origin: 'http://localhost:8080', 'sec-fetch-site': 'same-site' }],
  ['another port, by an old browser', { origin: 'http://localhost:8080' }],
  ['another scheme, by an old browser', { origin: 'https://localhost' }],
  ['a sandboxed frame', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
  ['a file, by an old browser', { origin: 'null' }],
  ['a site that is not named', { 'sec-fetch-site': 'cross-site' }],
  ['a name that begins like ours', { origin: 'http://localhost.evil.example' }],
  ['a name that begins like an allowed one', { origin: `${PROXY}.evil.example` }],
  ['an extension', { origin: 'chrome-extension://abcdefgh', 'sec-fetch-site': 'none' }],
  ['a value that nobody knows', { 'sec-fetch-site': 'neighbour' }],
])('a page of %s cannot change anything', async (_, headers) => {
  expect((await send('POST', '/v1/queues/default/pause', undefined, headers)).body.code).toBe(
    'foreign_origin',
  )
})

test.each<[string, Record<string, string>]>([
  ['a program, which says nothing', {}],
  ['the dashboard', { origin: 'http://localhost', 'sec-fetch-site': 'same-origin' }],
  ['the dashboard in an old browser', { origin: 'http://localhost' }],
  ['the dashboard behind a proxy', { origin: 'https://elsewhere.example', 'sec-fetch-site': 'same-origin' }],
  ['the dashboard behind a proxy that was named, in an old browser', { origin: PROXY }],
  ['a page of an origin that was named', { origin: PROXY, 'sec-fetch-site': 'cross-site' }],
  ['somebody who typed the address', { 'sec-fetch-site': 'none' }],
])('%s can make changes', async (_, headers) => {
  expect((await send('POST', '/v1/schedules/preview', { schedule: 'every 5m' }, headers)).status).toBe(200)
})

test('another site cannot follow a stream', async () => {
  const head = await new Promise<Record<string, unknown>>((resolve, reject) => {
    const request = ask(`${node.url}/v1/stream`, { headers: EVIL }, (answer) => {
      resolve(answer.headers)
      request.destroy()
    })
    request.on('error', reject).end()
  })

  expect(head['content-type']).toBe('text/event-stream')
  expect(head['cross-origin-resource-policy']).toBe('same-origin')
  expect(Object.keys(head).filter((name) => name.startsWith('access-control'))).toEqual([])
})

test('a running node refuses pages of other sites, and accepts its own pages and the allowed origin', async () => {
  const pause = (headers: Record<string, string>) =>
    fetch(`${node.url}/v1/queues/default/pause`, { method: 'POST', headers })
  const own = new URL(node.url).origin

  const answers = await Promise.all(
    [{ origin: 'https://evil.example' }, { origin: own }, { origin: PROXY }].map(pause),
  )

  expect(answers.map(({ status }) => status)).toEqual([403, 200, 200])
})
