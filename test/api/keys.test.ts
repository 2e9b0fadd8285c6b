/** API keys: who needs one, what it allows, and how it ends, on two nodes that share a database. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { expect, test } from 'vitest'
import { CHUNK_BYTES } from '../../src/core/file/file.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { request, startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const node = await startTestNode(database, { roles: 'api' })
const other = await startTestNode(database, { roles: 'api' })

/** Every node obeys a change of keys within 2 s; a machine that is busy with other tests gets more time. */
const OBEYED_MS = 20_000

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const ask = (key: string, method: string, path: string, body?: unknown, headers = {}) =>
  request(node.url, method, path, body, { ...bearer(key), ...headers })

const opened = await node.request('GET', '/v1/server')
const { body: keyless } = await node.request('POST', '/v1/worker/register', { handlers: ['h'] })
const openStreams = await Promise.all([
  openEvents(`${node.url}/v1/stream`, { accept: 'text/event-stream' }),
  openEvents(`${other.url}/v1/events`, { accept: 'text/event-stream' }),
])
for (const stream of openStreams) await stream.next('hello')
const { body: openFile } = await node.request('POST', '/v1/files', { name: 'without a key' })
const openClaim = endOfClaim(other.url, keyless.token)
const first = await node.request('POST', '/v1/keys', { name: 'first', role: 'admin' })
const firstAt = performance.now()
const admin: string = first.body.key

/** How a worker's request for runs ends, of which there are none. */
function endOfClaim(url: string, token: string): Promise<'cut off' | 'answered'> {
  const claim = { requestId: randomUUID(), limit: 1, waitMs: 30_000 }
  return request(url, 'POST', '/v1/worker/claim', claim, bearer(token)).then(
    // One that arrives after its key has ended is refused.
    ({ status }) => (status === 401 ? 'cut off' : 'answered'),
    () => 'cut off',
  )
}

const aKey = async (fields: Record<string, unknown>) =>
  (await ask(admin, 'POST', '/v1/keys', { name: 'test', project: 'default', ...fields })).body

test('a server on loopback needs no key until the first one exists, then every node needs one', async () => {
  await eventually(async () => (await other.request('GET', '/v1/tasks')).status === 401)
  const elapsedMs = performance.now() - firstAt
  const refused = await node.request('GET', '/v1/tasks')
  const wrong = await ask('bf_wrong', 'GET', '/v1/tasks')
  const answered = await ask(admin, 'GET', '/v1/server')

  expect(opened.body).toMatchObject({ isLoopbackOnly: true, isOpen: true })
  expect(first).toMatchObject({ status: 201, body: { role: 'admin', project: null, createdBy: '127.0.0.1' } })
  expect(admin).toMatch(/^bf_/)
  expect(elapsedMs).toBeLessThan(OBEYED_MS)
  expect([refused, wrong]).toMatchObject(
    Array(2).fill({ status: 401, body: { code: 'unauthenticated', title: 'Authentication required' } }),
  )
  expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="belfry"')
  expect(answered.body).toMatchObject({ isOpen: false })
})

test('streams and waiting claims from before the first key end, and the worker must register with a key', async () => {
  await Promise.all(openStreams.map(({ ended }) => ended.catch(() => {})))
  const claimed = await openClaim
  const beats = await Promise.all(
    [node, other].map(({ url }) => request(url, 'POST', '/v1/worker/heartbeat', {}, bearer(keyless.token))),
  )

  expect(claimed).toBe('cut off')
  expect(beats.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
    Array(2).fill('401 unknown_token'),
  )
  expect(beats[0]?.body.detail).toContain('registered without an API key')
})

test('an upload address from before the first key is refused', async () => {
  await eventually(async () => (await node.request('GET', '/v1/tasks')).status === 401)
  const upload = await fetch(openFile.uploadUrl, { method: 'PUT', body: new Uint8Array(10) })

  expect([upload.status, await upload.json()]).toMatchObject([401, { code: 'invalid_signature' }])
})

test('public paths need no key, and unknown paths get 404', async () => {
  const paths = ['/healthz', '/readyz', '/openapi.json', '/docs/']
  const answers = await Promise.all(paths.map((path) => fetch(node.url + path)))
  const unknown = await node.request('GET', '/v1/unknown')

  // A busy machine may not be ready.
  expect(answers.map(({ status }) => (status === 503 ? 200 : status))).toEqual([200, 200, 200, 200])
  expect(unknown.status).toBe(404)
})

test('a request without a key is refused before its body is parsed', async () => {
  const refused = await node.request('POST', '/v1/tasks', 'no JSON at all')

  expect(refused.status).toBe(401)
})

test('a key can do what its role allows, and the refusal names the necessary role', async () => {
  const task = { action: { type: 'sleep', duration: '0s' }, schedule: { type: 'manual' } }
  const { key: viewer } = await aKey({ role: 'viewer' })
  const { key: operator } = await aKey({ role: 'operator' })
  const { key: editor } = await aKey({ role: 'editor' })
  const created = await ask(editor, 'POST', '/v1/tasks', task)
  const path = `/v1/tasks/${created.body.id}`

  const seen = await ask(viewer, 'GET', path)
  const answers = await Promise.all([
    ask(viewer, 'POST', `${path}/pause`),
    ask(operator, 'POST', `${path}/pause`),
    ask(operator, 'PATCH', path, { name: 'other' }),
    ask(editor, 'POST', '/v1/keys', { name: 'more', role: 'viewer' }),
    ask(editor, 'GET', '/v1/nodes'),
  ])

  expect(seen.status).toBe(200)
  expect(answers.map(({ status }) => status)).toEqual([403, 200, 403, 403, 403])
  expect(answers.map(({ body }) => body.code ?? body.state)).toEqual([
    'forbidden',
    'paused',
    'forbidden',
    'forbidden',
    'forbidden',
  ])
  expect(answers[0]?.body.detail).toBe('This request needs the role operator.')
  expect(answers[4]?.body.detail).toBe('This request needs the role viewer of the installation.')
})

test('a key cannot create a key with wider access than itself', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const limits = { queues: ['a', 'b'], networks: ['127.0.0.0/8'], expiresAt }
  const { key } = await aKey({ role: 'admin', ...limits })
  const make = (fields: Record<string, unknown>) =>
    ask(key, 'POST', '/v1/keys', { name: 'made', role: 'editor', ...fields })

  const same = await make({})
  const less = await make({ queues: ['a'], networks: ['127.0.0.1'] })
  const more = await make({
    queues: ['c'],
    networks: ['0.0.0.0/0'],
    expiresAt: new Date(Date.now() + 7_200_000).toISOString(),
  })
  const ofAll = await make({ project: null })
  const elsewhere = await make({ project: 'elsewhere' })

  expect(same.body).toMatchObject({ project: 'default', ...limits })
  expect(less.body).toMatchObject({ queues: ['a'], networks: ['127.0.0.1/32'], expiresAt })
  expect(more.status).toBe(422)
  expect(more.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
    '/queues',
    '/networks',
    '/expiresAt',
  ])
  expect(ofAll).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  expect(elsewhere).toMatchObject({ status: 404, body: { code: 'not_found' } })
})

test('a restricted key cannot give a member unrestricted access', async () => {
  const restrictions = [
    { expiresAt: new Date(Date.now() + 60_000).toISOString() },
    { networks: ['127.0.0.0/8', '::1/128'] },
    { limits: { requestRate: '1000/s' } },
    { queues: ['night'] },
  ]
  const restricted = await Promise.all(restrictions.map((each) => aKey({ role: 'admin', ...each })))
  const unrestricted = await aKey({ role: 'admin' })
  const setMember = (key: string, member: object) => ask(key, 'POST', '/v1/members', member)

  const refused = await Promise.all(
    restricted.map(({ key }) => setMember(key, { email: 'eve@example.com', role: 'admin' })),
  )
  const added = await setMember(unrestricted.key, { email: 'ada@example.com', role: 'viewer' })
  const changed = await setMember(restricted[0].key, { email: 'ada@example.com', role: 'admin' })

  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  expect(refused[0]?.body.detail).toContain('without these restrictions')
  expect([added.status, changed.status]).toEqual([201, 403])
  const { items } = (await ask(admin, 'GET', '/v1/members')).body
  expect(items).toMatchObject([{ email: 'ada@example.com', role: 'viewer' }])
})

test('a key that is limited to networks is refused from others', async () => {
  const { key } = await aKey({ role: 'viewer', networks: ['192.0.2.0/24', '2001:db8::/32'] })

  const refused = await ask(key, 'GET', '/v1/tasks')

  expect(refused).toMatchObject({
    status: 403,
    body: { code: 'forbidden', detail: 'This API key cannot be used from 127.0.0.1.' },
  })
})

test('a revoked key ends on all nodes in time, with 80 streams and 20 waiting claims', async () => {
  const { id, key } = await aKey({ role: 'admin' })
  const register = { handlers: ['h'] }
  const tokens: string[] = []
  for (let i = 0; i < 20; i++)
    tokens.push((await ask(key, 'POST', '/v1/worker/register', register)).body.token)
  const [token = ''] = tokens
  const task = { action: { type: 'sleep', duration: '1h' }, schedule: { type: 'manual' } }
  const { body: made } = await ask(key, 'POST', '/v1/tasks', task)
  const { body: run } = await ask(key, 'POST', `/v1/tasks/${made.id}/trigger`)
  const paths = ['/v1/stream', '/v1/stream', '/v1/events', `/v1/runs/${run.id}/log`]
  const open = await Promise.all(
    Array.from({ length: 80 }, (_, i) =>
      openEvents(`${[node, other][Math.floor(i / 4) % 2]?.url}${paths[i % 4]}`, {
        accept: 'text/event-stream',
        ...bearer(key),
      }),
    ),
  )
  const waiting = tokens.map((each, i) => endOfClaim(([node, other][i % 2] ?? node).url, each))
  await Promise.all(open.map((stream) => stream.next('hello')))

  const revoked = await ask(admin, 'DELETE', `/v1/keys/${id}`)
  const revokedAt = performance.now()
  await Promise.all(open.map(({ ended }) => ended.catch(() => {})))
  const ends = await Promise.all(waiting)
  const elapsedMs = performance.now() - revokedAt
  const answers = await Promise.all(
    [node, other].flatMap(({ url }) => [
      request(url, 'GET', '/v1/tasks', undefined, bearer(key)),
      request(url, 'POST', '/v1/worker/heartbeat', {}, bearer(token)),
    ]),
  )

  expect(revoked.status).toBe(204)
  expect(open.map(({ status }) => status)).toEqual(open.map(() => 200))
  expect(ends).toEqual(tokens.map(() => 'cut off'))
  expect(elapsedMs).toBeLessThan(OBEYED_MS)
  expect(answers.map(({ status, body }) => `${status} ${body.code}`)).toEqual([
    '401 unauthenticated',
    '401 unknown_token',
    '401 unauthenticated',
    '401 unknown_token',
  ])
  expect((await ask(admin, 'GET', `/v1/keys/${id}`)).body).toMatchObject({ state: 'revoked' })
})

test('a revoked key loses its uploads, downloads and streams', async () => {
  const { id, key } = await aKey({ role: 'admin' })
  const aFile = async (name: string) => (await ask(key, 'POST', '/v1/files', { name })).body
  const [large, slow] = [await aFile('large'), await aFile('slow')]
  await fetch(large.uploadUrl, { method: 'PUT', body: new Uint8Array(24 * 1024 * 1024) })
  const task = { action: { type: 'sleep', duration: '1h' }, schedule: { type: 'manual' } }
  const { body: made } = await ask(key, 'POST', '/v1/tasks', task)
  const { body: run } = await ask(key, 'POST', `/v1/tasks/${made.id}/trigger`)
  await database.db.run(sql`
    insert into run_log (run_id, fence, seq, claimed_at, attempt, stream, at, text, bytes)
    select ${run.id}::uuid, 1, n, now(), 1, 'stdout', now(), repeat('x', 8000), 8000 from generate_series(0, 2999) n`)
  // Through a balancer, one of each node.
  const streams = [1, 2].map(() => openEvents(`${node.url}/v1/stream`, bearer(key)))
  for (const stream of await Promise.all(streams)) await stream.next('hello')
  const get = (path: string, headers = {}) =>
    fetch(node.url + path, { headers: { ...bearer(key), ...headers } })
  const downloads = await Promise.all([
    get(`/v1/files/${large.id}/content`),
    get(`/v1/runs/${run.id}/log`, { accept: 'text/plain' }),
  ])
  const upload = httpRequest(slow.uploadUrl, {
    method: 'PUT',
    headers: { 'content-length': 2 * CHUNK_BYTES },
  })
  const uploaded = once(upload, 'response').then(
    () => 'answered',
    () => 'cut off',
  )
  upload.write(Buffer.alloc(CHUNK_BYTES + 100))
  await eventually(async () => (await ask(admin, 'GET', `/v1/files/${slow.id}`)).body.receivedBytes > 0)

  await ask(admin, 'DELETE', `/v1/keys/${id}`)
  await Promise.all((await Promise.all(streams)).map(({ ended }) => ended.catch(() => {})))

  const ends = downloads.map((download) =>
    download.arrayBuffer().then(
      () => 'whole',
      () => 'cut off',
    ),
  )
  expect(downloads.map(({ status }) => status)).toEqual([200, 200])
  expect(await Promise.all([...ends, uploaded])).toEqual(['cut off', 'cut off', 'cut off'])
})

test('workers and upload addresses of a replaced admin key are refused by nodes with the next one', async () => {
  const [old, next] = ['o'.repeat(32), 'n'.repeat(32)]
  const before = await startTestNode(database, { roles: 'api', adminKey: old })
  const after = await startTestNode(database, { roles: 'api', adminKey: next })
  const sendWith = (key: string, url: string, path: string, body: unknown) =>
    request(url, 'POST', path, body, bearer(key))
  const { body: worker } = await sendWith(old, before.url, '/v1/worker/register', { handlers: ['h'] })
  const { body: file } = await sendWith(old, before.url, '/v1/files', { name: 'by the old key' })
  const { body: newer } = await sendWith(next, after.url, '/v1/worker/register', { handlers: ['h'] })
  const address = new URL(file.uploadUrl)
  const upload = (url: string) =>
    fetch(url + address.pathname + address.search, { method: 'PUT', body: new Uint8Array(10) })

  const beats = await Promise.all([
    sendWith(worker.token, before.url, '/v1/worker/heartbeat', {}),
    sendWith(worker.token, after.url, '/v1/worker/heartbeat', {}),
    sendWith(newer.token, after.url, '/v1/worker/heartbeat', {}),
  ])
  const refused = await upload(after.url)
  const accepted = await upload(before.url)

  expect(beats.map(({ status }) => status)).toEqual([200, 401, 200])
  expect([refused.status, await refused.json()]).toMatchObject([401, { code: 'invalid_signature' }])
  expect(accepted.status).toBe(200)
})

test('a rotated key stays valid beside its successor during the overlap', async () => {
  const { id, key } = await aKey({ role: 'viewer', queues: ['a'] })

  const rotated = await ask(admin, 'POST', `/v1/keys/${id}/rotate`, { overlap: '1h' })
  const again = await ask(admin, 'POST', `/v1/keys/${id}/rotate`)
  const old = await ask(admin, 'GET', `/v1/keys/${id}`)
  const answers = await Promise.all([key, rotated.body.key].map((one) => ask(one, 'GET', '/v1/tasks')))
  const atOnce = await ask(admin, 'POST', `/v1/keys/${rotated.body.id}/rotate`, { overlap: '0s' })
  await eventually(async () => (await ask(rotated.body.key, 'GET', '/v1/tasks')).status === 401)

  expect(rotated).toMatchObject({ status: 201, body: { role: 'viewer', name: 'test', queues: ['a'] } })
  expect(again).toMatchObject({ status: 409, body: { code: 'key_ended' } })
  expect(old.body).toMatchObject({ state: 'active', rotatedTo: rotated.body.id })
  expect(Date.parse(old.body.expiresAt) - Date.now()).toBeGreaterThan(3_500_000)
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect((await ask(atOnce.body.key, 'GET', '/v1/tasks')).status).toBe(200)
})

test('a key cannot rotate a key with wider access than itself', async () => {
  const { id: unlimited } = await aKey({ role: 'admin' })
  const { id: wider } = await aKey({ role: 'viewer', queues: ['a', 'b'] })
  const { id: within } = await aKey({ role: 'viewer', queues: ['a'], networks: ['127.0.0.1'] })
  const { key: ofQueue } = await aKey({ role: 'admin', queues: ['a'] })
  const { key: ofNetwork } = await aKey({ role: 'admin', networks: ['127.0.0.0/8'] })
  const { key: slow, id: own } = await aKey({ role: 'admin', limits: { requestRate: '50/s' } })
  const rotate = (key: string, id: string) => ask(key, 'POST', `/v1/keys/${id}/rotate`)

  const refused = [
    await rotate(ofQueue, unlimited),
    await rotate(ofQueue, wider),
    await rotate(ofNetwork, wider),
    await rotate(slow, wider),
  ]
  const allowed = [await rotate(ofNetwork, within), await rotate(slow, own)]

  expect(refused.map(({ status, body }) => `${status} ${body.code}`)).toEqual(Array(4).fill('403 forbidden'))
  expect(allowed).toMatchObject([
    { status: 201, body: { queues: ['a'], networks: ['127.0.0.1/32'] } },
    { status: 201, body: { limits: { requestRate: '50/s' } } },
  ])
})

test('a key with limits changes only the limits that a request names, up to its own', async () => {
  const { key } = await aKey({ role: 'admin', limits: { requestRate: '500/s', maxPayloadBytes: 2_000 } })
  const { id: unlimited } = await aKey({ role: 'viewer' })
  const { id: limited } = await aKey({ role: 'viewer', limits: { requestRate: '10/s' } })
  const edit = (id: string, limits: object) => ask(key, 'PATCH', `/v1/keys/${id}`, { limits })

  const set = await edit(unlimited, { maxPayloadBytes: 1_000, requestRate: null })
  const refused = [
    await edit(unlimited, { requestRate: '600/s' }),
    await edit(unlimited, { maxPayloadBytes: null }),
    await edit(limited, { requestRate: null }),
  ]
  const raised = await edit(limited, { requestRate: '500/s' })

  const none = { requestRate: null, maxPayloadBytes: null, minPeriod: null, maxAhead: null }
  expect(set.body.limits).toEqual({ ...none, maxPayloadBytes: 1_000 })
  expect(
    refused.map(({ status, body }) => `${status} ${body.errors[0].pointer} ${body.errors[0].detail}`),
  ).toEqual([
    '422 /limits/requestRate must not exceed that of your own key: 500/s',
    '422 /limits/maxPayloadBytes must not exceed that of your own key: 2000',
    '422 /limits/requestRate must not exceed that of your own key: 500/s',
  ])
  expect(raised.body.limits).toEqual({ ...none, requestRate: '500/s' })
})

test('concurrent requests never exceed the limit of keys', async () => {
  await ask(admin, 'POST', '/v1/projects', { name: 'full' })
  await database.db.run(sql`
    insert into api_key (id, project_id, name, role, hash, hint)
    select gen_random_uuid(), p.id, 'filler', 'viewer', sha256(i::text::bytea), 'bf_' from project p, generate_series(1, 995) i
    where p.name = 'full'`)
  const make = (url: string) =>
    request(url, 'POST', '/v1/keys', { name: 'one more', role: 'viewer', project: 'full' }, bearer(admin))

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => make([node, other][i % 2]?.url ?? '')),
  )

  const made = answers.filter(({ status }) => status === 201)
  expect(made).toHaveLength(5)
  expect(answers.filter(({ body }) => body.code === 'too_many_keys')).toHaveLength(15)
  // A key can be replaced all the same, but not without end.
  const rotate = (id: string) => ask(admin, 'POST', `/v1/keys/${id}/rotate`, {}, { 'belfry-project': 'full' })
  expect((await rotate(made[0]?.body.id)).status).toBe(201)
  await database.db.run(sql`
    insert into api_key (id, project_id, name, role, hash, hint)
    select gen_random_uuid(), p.id, 'rotated', 'viewer', sha256(('r' || i)::bytea), 'bf_' from project p, generate_series(1, 999) i
    where p.name = 'full'`)
  expect(await rotate(made[1]?.body.id)).toMatchObject({ status: 409, body: { code: 'too_many_keys' } })
})

test('keys are listed without their secrets, newest first, page by page', async () => {
  await aKey({ role: 'viewer', name: 'last' })

  const { body: page } = await ask(admin, 'GET', '/v1/keys?limit=2')
  const { body: next } = await ask(admin, 'GET', `/v1/keys?limit=2&cursor=${page.nextCursor}`)
  const text = JSON.stringify([page, next])

  expect(page.items[0]).toMatchObject({ name: 'last', role: 'viewer', project: 'default', state: 'active' })
  expect(page.items).toHaveLength(2)
  expect(next.items[0].id < page.items[1].id).toBe(true)
  expect(text).not.toMatch(/bf_\w{40}/)
})

test('a key that is limited to queues cannot change tasks and runs of other queues', async () => {
  const { key } = await aKey({ role: 'admin', queues: ['a'] })
  const task = { action: { type: 'sleep', duration: '0s' }, schedule: { type: 'manual' } }
  const own = (await ask(key, 'POST', '/v1/tasks', { ...task, queue: 'a' })).body.id
  const daily = { type: 'cron', expression: '0 0 * * *' }
  const theirs = { ...task, schedule: daily, queue: 'b', key: 'of-b', startAt: '2020-01-01T00:00:00Z' }
  const foreign = (await ask(admin, 'POST', '/v1/tasks', theirs)).body.id
  const moved = (await ask(admin, 'POST', '/v1/tasks', { ...task, queue: 'b' })).body.id
  await ask(admin, 'PATCH', `/v1/tasks/${moved}`, { queue: 'a' })
  const past = { from: '2021-01-01T00:00:00Z', to: '2021-01-03T00:00:00Z' }
  const { body: backfill } = await ask(admin, 'POST', `/v1/tasks/${foreign}/backfill`, past)
  const { body: ended } = await ask(admin, 'POST', `/v1/tasks/${foreign}/trigger`)
  await ask(admin, 'POST', `/v1/runs/${ended.id}/cancel`)
  const { body: run } = await ask(admin, 'POST', `/v1/tasks/${foreign}/trigger`)
  const job = { user_id: 'ada', schedule: '0 0 * * *', code_location: 'http://127.0.0.1:1/' }
  const { body: ofAda } = await ask(admin, 'POST', '/submit_job', job)

  const allowed = [
    await ask(key, 'GET', `/v1/tasks/${foreign}`),
    await ask(key, 'POST', `/v1/tasks/${own}/trigger`),
    await ask(key, 'POST', '/v1/queues/a/pause'),
    await ask(key, 'POST', '/v1/worker/register', { handlers: ['h'], queues: ['a'] }),
    await ask(key, 'POST', '/v1/worker/register', { handlers: ['h'] }),
  ]
  const refused = [
    await ask(key, 'POST', '/v1/tasks', { ...task, queue: 'b' }),
    await ask(key, 'POST', '/v1/tasks', task),
    await ask(key, 'POST', '/v1/tasks/bulk', { tasks: [{ ...task, queue: 'b' }] }),
    await ask(key, 'PATCH', `/v1/tasks/${own}`, { queue: 'b' }),
    await ask(key, 'PATCH', `/v1/tasks/${foreign}`, { name: 'mine' }),
    await ask(key, 'DELETE', `/v1/tasks/${foreign}`),
    await ask(key, 'POST', `/v1/tasks/${foreign}/pause`),
    await ask(key, 'POST', `/v1/tasks/${foreign}/trigger`),
    await ask(key, 'POST', `/v1/tasks/${own}/trigger`, { queue: 'b' }),
    await ask(key, 'POST', '/v1/queues/b/pause'),
    await ask(key, 'POST', `/v1/tasks/${foreign}/resume`),
    await ask(key, 'POST', `/v1/tasks/${foreign}/skip-next`),
    await ask(key, 'DELETE', `/v1/tasks/${foreign}/skip-next`),
    await ask(key, 'POST', `/v1/tasks/${foreign}/cancel`),
    await ask(key, 'POST', `/v1/tasks/${foreign}/rollback`, { version: 1 }),
    await ask(key, 'POST', `/v1/tasks/${moved}/rollback`, { version: 1 }),
    await ask(key, 'POST', `/v1/tasks/${foreign}/backfill`, past),
    await ask(key, 'POST', `/v1/backfills/${backfill.id}/cancel`),
    await ask(key, 'POST', `/v1/runs/${run.id}/cancel`),
    await ask(key, 'POST', `/v1/runs/${ended.id}/retry`),
    await ask(key, 'PATCH', '/v1/queues/b', { concurrencyLimit: 1 }),
    await ask(key, 'POST', '/v1/queues/b/resume'),
    await ask(key, 'PUT', '/v1/tasks/by-key/of-b', { ...task, queue: 'a' }),
    await ask(key, 'PUT', '/v1/tasks/by-key/new', task),
    await ask(key, 'POST', '/tasks', { command: '5s' }),
    await ask(key, 'POST', '/submit_job', job),
    await ask(key, 'POST', '/delete_job', { user_id: 'ada', job_id: ofAda.job_id }),
    await ask(key, 'POST', '/v1/dead-letters/redrive', { filter: {} }),
    await ask(key, 'POST', '/v1/blackouts', { name: 'none' }),
    await ask(key, 'POST', '/v1/worker/register', { handlers: ['h'], queues: ['b'] }),
  ]

  expect(allowed.map(({ status }) => status)).toEqual([200, 201, 200, 201, 201])
  expect(refused.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
    refused.map(() => '403 forbidden'),
  )
  expect([backfill.id, run.id, ofAda.job_id]).toEqual(Array(3).fill(expect.any(String)))
  expect(refused[0]?.body.detail).toContain('This API key cannot be used for the queue b.')
})
