/** What projects and keys may use: requests, tasks, bytes. Two nodes share one database. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { IS_BALANCED } from '../support/balancer.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createTestApp } from './test-app.ts'

const { db, url } = await createTestDatabase()
const other = new Database({
  url,
  applicationName: 'other node',
  maxConnections: 5,
  statementTimeoutMs: 30_000,
})
const { send } = await createTestApp({ db })
const { send: sendToOther } = await createTestApp({ db: other })
afterAll(() => other.close())
const nodes = [send, sendToOther]

const NONE = { requestRate: null, maxPayloadBytes: null, maxTasks: null, maxStoredBytes: null }
let limitAs: Record<string, string> = {}
const limit = (limits: Record<string, unknown>) => send('PATCH', '/v1/projects/default', { limits }, limitAs)
const known = async (limits: Record<string, unknown>) => {
  const answer = await limit(limits)
  expect(answer.status).toBe(200)
  // The other node has read the limits at most a second ago.
  await db.run(sql`update project_use set since = now() - interval '1 minute'`)
}
const action = { type: 'sleep', duration: '0s' }
const later = { type: 'once', at: '2099-01-01T00:00:00Z' }
const create = (task: Record<string, unknown> = {}, node = send) =>
  node('POST', '/v1/tasks', { action, schedule: later, ...task })
/** Where counting took long, what was counted holds for a moment. */
const createOnceThereIsRoom = (task: Record<string, unknown> = {}) =>
  eventually(async () => {
    const answer = await create(task)
    return answer.status === 201 && answer
  })

beforeEach(async () => {
  await db.run(sql`delete from agenda`)
  await db.run(sql`update task set cancelled_at = now(), deleted_at = now()`)
  await db.run(sql`delete from request_quota`)
})
afterEach(() => limit(NONE))

describe('tasks', () => {
  test('twenty clients on two nodes create exactly as many tasks as the limit allows', async () => {
    await limit({ maxTasks: 10 })
    await eventually(async () => {
      const refused = await sendToOther('POST', '/v1/tasks/bulk', { tasks: Array(11).fill({ action }) })
      return refused.body.code === 'too_many_tasks'
    })

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, client) => nodes[client % 2] ?? send).flatMap((node) => [
        create({}, node),
        create({ schedule: { type: 'manual' } }, node),
      ]),
    )

    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10)
    const refused = answers.filter(({ status }) => status !== 201)
    expect(new Set(refused.map(({ body }) => body.code))).toEqual(new Set(['too_many_tasks']))
    expect(refused.at(-1)?.body).toMatchObject({ status: 409, limit: { maxTasks: 10 }, current: 10 })
    expect(refused.at(-1)?.body.detail).toContain('ask an admin of the installation')
    await eventually(async () => (await send('GET', '/v1/projects/default')).body.use.tasks === 10)
  })

  test('a deleted or finished task makes room, and a finished task cannot be revived over the limit', async () => {
    await known({ maxTasks: 2 })
    const { body: first } = await createOnceThereIsRoom()
    const { body: second } = await create({ schedule: { type: 'manual' } })
    const third = await create()

    await send('DELETE', `/v1/tasks/${first.id}`)
    const fourth = await createOnceThereIsRoom()
    await db.run(sql`delete from agenda where task_id = ${fourth.body.id}`)
    const fifth = await createOnceThereIsRoom()
    const revived = await send('PATCH', `/v1/tasks/${fourth.body.id}`, {
      schedule: { type: 'once', at: '2098-01-01T00:00:00Z' },
    })
    const paused = await send('POST', `/v1/tasks/${fifth.body.id}/pause`)
    const sixth = await create()
    const renamed = await send('PATCH', `/v1/tasks/${second.id}`, { name: 'the same task' })

    expect([third, paused, sixth, renamed].map(({ status }) => status)).toEqual([409, 200, 409, 200])
    expect(revived).toMatchObject({ status: 409, body: { code: 'too_many_tasks' } })
  })

  test('a bulk creates all of its tasks or none', async () => {
    await known({ maxTasks: 5 })

    const six = await send('POST', '/v1/tasks/bulk', { tasks: Array(6).fill({ action, schedule: later }) })
    const five = await send('POST', '/v1/tasks/bulk', { tasks: Array(5).fill({ action, schedule: later }) })
    const one = await create()

    expect([six, five, one].map(({ status }) => status)).toEqual([409, 201, 409])
    expect(six.body.detail).toContain('The project has 0 tasks that have not ended and 6 would be added')
  })
})

test('an override of a run is limited like the definition of a task', async () => {
  const handler = { type: 'handler', name: 'greet', payload: { text: 'short' } }
  const { body: task } = await create({ action: handler, schedule: { type: 'manual' }, overlap: 'allow' })
  await known({ maxPayloadBytes: 1_000 })
  const run = (text: string) =>
    send('POST', `/v1/tasks/${task.id}/trigger`, { action: { payload: { text } } })

  const large = await run('x'.repeat(2_000))
  const small = await run('x'.repeat(500))

  expect(large).toMatchObject({ status: 422, body: { code: 'beyond_limits', limitOf: 'project' } })
  expect(small.status).toBe(201)
  expect(await db.run(sql`select from run_override`)).toHaveLength(1)
})

test('definitions have a limit for each and a limit for all together', async () => {
  const long = { metadata: { text: 'x'.repeat(2_000) } }
  await known({ maxPayloadBytes: 1_000, maxStoredBytes: 1_500 })

  const small = await create({ metadata: { text: 'x'.repeat(700) } })
  const large = await create(long)
  const second = await create({ metadata: { text: 'x'.repeat(700) } })
  const grown = await send('PATCH', `/v1/tasks/${small.body.id}`, long)
  await known({ maxPayloadBytes: null })
  const grownTogether = await send('PATCH', `/v1/tasks/${small.body.id}`, long)
  const shrunk = await send('PATCH', `/v1/tasks/${small.body.id}`, { metadata: {} })
  await createOnceThereIsRoom({ metadata: { text: 'x'.repeat(700) } })

  expect(small.status).toBe(201)
  expect(large).toMatchObject({
    status: 422,
    body: { code: 'beyond_limits', limit: { maxPayloadBytes: 1_000 } },
  })
  expect(large.body.detail).toMatch(/^The task has a definition of 2\d\d\d bytes; the project allows/)
  expect(second).toMatchObject({
    status: 409,
    body: { code: 'too_much_stored', limit: { maxStoredBytes: 1_500 } },
  })
  expect(grown.body.code).toBe('beyond_limits')
  expect(grownTogether.body.code).toBe('too_much_stored')
  expect(shrunk.status).toBe(200)
})

describe('requests', () => {
  const list = (node = send, headers = {}) => node('GET', '/v1/tasks?limit=1', undefined, headers)

  test('no request is counted without a limit', async () => {
    const answer = await list()

    expect(answer.headers).not.toHaveProperty('ratelimit')
    expect(await db.run(sql`select from request_quota`)).toHaveLength(0)
  })

  test('are limited to the rate across both nodes, and answers show what is left', async () => {
    await limit({ requestRate: '20/h' })
    const answers: Awaited<ReturnType<typeof list>>[] = []
    const isCounted = async (node: typeof send) => {
      const answer = await list(node)
      if ('ratelimit' in answer.headers) answers.push(answer)
      return 'ratelimit' in answer.headers
    }
    for (const node of nodes) await eventually(() => isCounted(node))

    for (let i = 0; i < 30; i++) await isCounted(nodes[i % 2] ?? send)
    const health = await send('GET', '/healthz')
    const project = await send('GET', '/v1/projects/default')

    const admitted = answers.filter(({ status }) => status === 200)
    expect(admitted.length).toBeGreaterThanOrEqual(18)
    // Each may let one through before it has heard of the others.
    expect(admitted.length).toBeLessThanOrEqual(20 + (IS_BALANCED ? 4 : 2))
    expect(admitted[0]?.headers).toMatchObject({
      'ratelimit-policy': '"project";q=20;w=3600',
      ratelimit: expect.stringMatching(/^"project";r=1\d;t=0$/),
    })
    const refused = answers.at(-1)
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited', limitOf: 'project' } })
    expect(refused?.headers['ratelimit']).toMatch(/^"project";r=0;t=\d+$/)
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(1)
    expect(health.headers).not.toHaveProperty('ratelimit')
    expect(project).toMatchObject({ status: 200, body: { use: { requests: 20 } } })
  })
})

test('GET /v1/me does not count against the request limit', async () => {
  await limit({ requestRate: '2/h' })
  await eventually(async () => (await send('GET', '/v1/tasks?limit=1')).status === 429)

  const answer = await send('GET', '/v1/me')

  expect(answer.status).toBe(200)
  expect(answer.headers).not.toHaveProperty('ratelimit')
})

describe('keys', () => {
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  beforeAll(async () => {
    const isUnlimited = async () => (await send('GET', '/v1/tasks?limit=1')).status === 200
    await eventually(isUnlimited)
    const { body: admin } = await send('POST', '/v1/keys', { name: 'admin', role: 'admin' })
    // From now on the server asks for keys.
    limitAs = as(admin.key)
  })

  test('can be stricter than the project, and create only keys that are as strict', async () => {
    const make = (body: Record<string, unknown>, by: Record<string, string>) =>
      send('POST', '/v1/keys', { role: 'admin', project: 'default', ...body }, by)
    const strict = { requestRate: '1000/s', maxPayloadBytes: 2_000, minPeriod: '1m' }
    const own = await make({ name: 'own', limits: strict }, limitAs)
    const { id, key } = own.body

    const asked = { limits: { requestRate: '2000/s', minPeriod: '1s', maxPayloadBytes: 500 } }
    const looser = await make({ name: 'looser', ...asked }, as(key))
    const child = await make({ name: 'child', limits: { maxPayloadBytes: 500 } }, as(key))
    const often = { action, schedule: { type: 'every', interval: '10s' } }
    const tooOften = await send('POST', '/v1/tasks', often, as(key))
    const long = { action, metadata: { text: 'x'.repeat(3_000) } }
    const tooLong = await send('POST', '/v1/tasks', long, as(key))
    const slower = await send(
      'PATCH',
      `/v1/keys/${id}`,
      { limits: { requestRate: '2/h', minPeriod: null } },
      limitAs,
    )
    const refused = await eventually(async () => {
      const answer = await sendToOther('GET', '/v1/tasks?limit=1', undefined, as(key))
      // The limit that the project had before is known there for a moment.
      const isFormer = /project/.test(String(answer.headers['ratelimit-policy']))
      return answer.status === 429 && answer.body.limitOf === 'key' && !isFormer && answer
    })

    expect(own.body.limits).toEqual({ ...strict, maxAhead: null })
    expect(looser.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/limits/minPeriod',
      '/limits/requestRate',
    ])
    expect(child.body.limits).toEqual({ ...strict, maxPayloadBytes: 500, maxAhead: null })
    expect(tooOften.body).toMatchObject({ code: 'beyond_limits', limitOf: 'key', limit: { minPeriod: '1m' } })
    expect(tooLong.body).toMatchObject({ code: 'beyond_limits', limit: { maxPayloadBytes: 2_000 } })
    expect(slower.body.limits).toMatchObject({ requestRate: '2/h', minPeriod: null, maxPayloadBytes: 2_000 })
    expect(refused.body).toMatchObject({
      code: 'rate_limited',
      limitOf: 'key',
      limit: { requestRate: '2/h' },
    })
    expect(refused.headers['ratelimit-policy']).toBe('"key";q=2;w=3600')
  })

  test('of admins of a project cannot set its limits, networks and retention', async () => {
    const path = '/v1/projects/guarded'
    await send('POST', '/v1/projects', { name: 'guarded' }, limitAs)
    const { body: admin } = await send(
      'POST',
      '/v1/keys',
      { name: 'admin of guarded', role: 'admin', project: 'guarded' },
      limitAs,
    )
    const edit = (fields: object) => send('PATCH', path, fields, as(admin.key))
    const mail = { from: 'ops@example.com' }

    const refused = [
      await edit({ limits: { maxTasks: 1 } }),
      await edit({ retention: { history: '1d' } }),
      await edit({ network: { allowedPrivate: ['10.0.0.0/8'] } }),
      await edit({ network: { allowedPrivate: [] } }),
      await edit({ mail, network: { allowedPrivate: null } }),
    ]
    const untouched = await send('GET', path, undefined, limitAs)
    const allowed = await edit({ mail })

    expect(refused.map(({ status, body }) => `${status} ${body.code}`)).toEqual(
      Array(5).fill('403 forbidden'),
    )
    expect(untouched.body).toMatchObject({
      network: { allowedPrivate: null },
      retention: { history: null, auditLog: null },
      limits: { maxTasks: null },
      mail: { from: null },
    })
    expect(allowed).toMatchObject({ status: 200, body: { mail } })
  })

  test('have their rejected requests counted too', async () => {
    const { body: project } = await send('POST', '/v1/projects', { name: 'seen' }, limitAs)
    const requests = {
      'without the access': { path: '/v1/tasks', body: { action }, status: 403 },
      'as a worker': { path: '/v1/worker/register', body: {}, status: 403 },
      'in an unknown project': { path: '/v1/tasks', headers: { 'belfry-project': 'unknown' }, status: 404 },
      'with an invalid reason': {
        path: '/v1/tasks',
        headers: { 'belfry-reason': 'x'.repeat(501) },
        status: 422,
      },
    }

    const seen: Record<string, unknown> = {}
    for (const [name, { path, body, headers, status }] of Object.entries<Rejected>(requests)) {
      const limits = { requestRate: '2/h' }
      const key = await send(
        'POST',
        '/v1/keys',
        { name, role: 'viewer', project: project.name, limits },
        limitAs,
      )
      const ask = () => send(body ? 'POST' : 'GET', path, body, { ...headers, ...as(key.body.key) })
      const first = await ask()
      const last = await eventually(async () => {
        const answer = await ask()
        return answer.status !== status && answer
      })
      seen[name] = [first.status, last.status, last.body.limitOf]
    }

    expect(seen).toEqual(
      Object.fromEntries(Object.entries(requests).map(([name, { status }]) => [name, [status, 429, 'key']])),
    )
  })
})

/** A request that is rejected although its sender is known. */
interface Rejected {
  readonly path: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly status: number
}
