/**
 * Requests about the things of another project, and the same requests about things that do not exist. Whoever sends them
 * must not be able to tell which is which, by status or by body.
 */
import { randomUUID } from 'node:crypto'
import type { Database } from '../../../src/store/database/database.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { createTestApp, type InjectedAnswer } from '../test-app.ts'

/** Streams do not end, and the compatible interfaces give ids of their own kind. */
const LEFT_OUT = /^\/v1\/(stream|events)$|^\/(docs|assets|auth|openapi)|^\/$/
/** What is called by a name is made when it is first named, so only reading leaves everything as it was. */
const BY_NAME = /:(name|key|target)\b/

const BODIES: readonly unknown[] = [
  undefined,
  {},
  { name: 'x' },
  { reason: 'x' },
  { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
  { version: 1 },
  { overlap: '1h' },
]

/** Requests that name a thing elsewhere than in their path. */
const ABOUT: readonly ((thing: string) => Asked)[] = [
  (thing) => asked('POST', '/v1/dead-letters/dismiss', { filter: { runIds: [thing] } }),
  (thing) => asked('POST', '/v1/dead-letters/dismiss', { filter: { taskId: thing }, dryRun: true }),
  (thing) => asked('POST', '/v1/dead-letters/redrive', { filter: { runIds: [thing] }, dryRun: true }),
  (thing) =>
    asked('POST', '/v1/subscriptions', {
      url: 'https://example.com/',
      filter: { taskIds: [thing] },
      after: 'x',
    }),
  (thing) => asked('POST', '/v1/tasks', { action: { type: 'exec', file: thing } }),
  (thing) => asked('POST', '/delete_job', { user_id: 'ada', job_id: thing }),
  (thing) => asked('POST', '/get_exec_history', { job_id: thing }),
  ...['tasks', 'keys', 'subscriptions', 'dead-letters/redrives', 'findings', 'files'].map(
    (list) => (thing: string) => asked('GET', `/v1/${list}?cursor=${cursorAt(thing)}`, undefined),
  ),
]

const asked = (method: string, path: string, body: unknown): Asked => ({ method, path, body })
const cursorAt = (id: string) => Buffer.from(JSON.stringify([id])).toString('base64url')

interface Asked {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

/** A request that was answered differently. */
export interface Difference {
  readonly foreign: Asked
  readonly answers: readonly [foreign: string, unknown: string]
}

export async function prepareTenants(db: Database) {
  const { app, send } = await createTestApp({ db })
  const admin = await keyFor(send, { role: 'admin' }, {})
  for (const name of ['theirs', 'ours']) await send('POST', '/v1/projects', { name }, admin)
  const theirs = { ...admin, 'belfry-project': 'theirs' }
  const things = await makeThings(send, theirs)
  await makeThings(send, { ...admin, 'belfry-project': 'ours' })
  const ours = await keyFor(send, { role: 'admin', project: 'ours' }, admin)
  const routes = app.accessTable.filter(({ url, access }) => !LEFT_OUT.test(url) && access !== 'token')

  const concerned = routes.filter(
    ({ url, method }) => url.includes(':') && (!BY_NAME.test(url) || method === 'GET'),
  )

  /** Sends so many pairs of requests, and answers those that made a difference. */
  async function compare(count: number, random: () => number): Promise<Difference[]> {
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
    const differences: Difference[] = []
    for (let n = 0; n < count; n++) {
      const { thing, about } = question(random, pick)
      const stranger = strangerTo(thing)
      const [foreign, unknown] = [about(thing), about(stranger)]
      const answers = [await answerTo(foreign, thing), await answerTo(unknown, stranger)] as const
      if (answers[0] !== answers[1]) differences.push({ foreign, answers })
    }
    return differences
  }

  /** A thing, and a request about it. */
  function question(random: () => number, pick: <T>(from: readonly T[]) => T) {
    const chance = random()
    if (chance < 0.2) return { thing: pick(things.ids), about: pick(ABOUT) }
    const { method, url } = chance < 0.4 ? { method: 'GET', url: pick(LISTS) } : pick(concerned)
    const body = ['GET', 'HEAD'].includes(method) ? undefined : pick(BODIES)
    const thing = pick(BY_NAME.test(url) ? things.names : things.ids)
    return { thing, about: (one: string): Asked => ({ method, path: withThing(url, one), body }) }
  }

  const answerTo = async ({ method, path, body }: Asked, thing: string) =>
    shapeOf(await send(method, path, body, ours), thing)

  return { compare, things, send, admin, ours, theirs }
}

/** Lists that can be asked about a thing. */
const LISTS = [
  '/v1/runs?taskId=:id',
  '/v1/dead-letters?taskId=:id',
  '/v1/ids?prefix=:prefix',
  '/v1/audit-log?subject=:id',
  '/v1/tasks?q=:id',
  '/v1/queues?q=:name',
  '/v1/targets?q=:name',
] as const

const withThing = (url: string, thing: string) =>
  url
    .replace(':prefix', thing.slice(0, 13))
    .replace(/:version\b/, '1')
    .replace(/:\w+/g, () => encodeURIComponent(thing))

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi

/** Something of the same kind that nobody has. Ids carry the time at which they were made. */
const strangerTo = (thing: string) =>
  thing.match(UUID) ? thing.slice(0, 14) + randomUUID().slice(14) : thing.replace('theirs', () => letters(6))

const letters = (count: number) =>
  Array.from({ length: count }, () => String.fromCharCode(97 + Math.floor(Math.random() * 26))).join('')

/** Headers that differ between any two answers. */
const VARYING: ReadonlySet<string> = new Set(['date', 'x-request-id', 'content-length'])

/** What can be seen of an answer, without what differs between any two. */
function shapeOf({ status, headers, text }: InjectedAnswer, thing: string): string {
  const told = Object.entries(headers).filter(([name]) => !VARYING.has(name))
  const shape = `${JSON.stringify(told)} ${text}`
    .replace(/"instance":"[^"]*",?/, '')
    .replaceAll(thing, 'THING')
    .replace(UUID, 'ID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, 'INSTANT')
    .replaceAll('THING', 'ID')
  return `${status} ${shape}`
}

type Send = Awaited<ReturnType<typeof createTestApp>>['send']

async function keyFor(send: Send, fields: object, headers: Record<string, string>) {
  const { body } = await send('POST', '/v1/keys', { name: 'test', ...fields }, headers)
  return { authorization: `Bearer ${body.key}` }
}

/** One of everything that has an id or a name. */
async function makeThings(send: Send, headers: Record<string, string>) {
  const make = async (path: string, body: unknown): Promise<string> => {
    const { status, body: made } = await send('POST', path, body, headers)
    if (status >= 300) throw new Error(`${path} answered ${status}: ${JSON.stringify(made)}`)
    return made.id
  }
  const sleep = { type: 'sleep', duration: '0s' }
  const every = { type: 'every', interval: '1h' }
  const startAt = '2026-01-01T00:00:00Z'
  const whose = headers['belfry-project']
  const [key, queue] = [`tasks-${whose}`, `queue-${whose}`]
  const task = await make('/v1/tasks', {
    action: sleep,
    schedule: every,
    startAt,
    key,
    queue,
  })
  await send('PATCH', `/v1/tasks/${task}`, { name: 'second' }, headers)
  const waiting = await make(`/v1/tasks/${task}/trigger`, { overlap: 'allow' })
  const ended = await make(`/v1/tasks/${task}/trigger`, { overlap: 'allow' })
  await send('POST', `/v1/runs/${ended}/cancel`, undefined, headers)
  const range = { from: '2026-02-01T00:00:00Z', to: '2026-02-01T02:00:00Z' }
  const ids = [
    task,
    waiting,
    ended,
    await make(`/v1/tasks/${task}/backfill`, range),
    await make('/v1/blackouts', {
      name: 'b',
      window: { type: 'range', from: '2030-01-01T00:00:00Z', to: '2030-01-02T00:00:00Z' },
    }),
    await make('/v1/subscriptions', { name: 's', url: 'https://example.com/' }),
    await make('/v1/signing-secrets', {}),
    await make('/v1/dead-letters/redrive', { filter: {} }),
    await make('/v1/keys', { name: 'k', role: 'viewer', project: whose }),
    await make('/v1/members', { group: `group-${whose}`, role: 'viewer' }),
    await make('/v1/files', { name: `file-${whose}`, size: 1 }),
  ]
  const secret = `secret-${whose}`
  await send('PUT', `/v1/secrets/${secret}`, { value: 'a value' }, headers)
  const target = `https://target-${whose}.example.com`
  await send('PATCH', `/v1/targets/${encodeURIComponent(target)}`, { limit: 7 }, headers)
  const { body: log } = await send('GET', '/v1/audit-log', undefined, headers)
  ids.push(...log.items.slice(0, 3).map(({ id }: { id: string }) => id))
  return { ids, names: [key, queue, secret, target] }
}

/** Numbers that follow from a seed alone. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** What the things of the other project look like; requests about them must leave it so. */
export async function digestOf(db: Database): Promise<string> {
  const [row] = await db.run(sql<{ digest: string }>`
    select md5(concat((select string_agg(t::text, ',' order by t.id) from task t join project p on p.id = t.project_id where p.name = 'theirs'),
                      (select string_agg(a::text, ',' order by a.run_id) from agenda a join project p on p.id = a.project_id where p.name = 'theirs'),
                      (select string_agg(s::text, ',' order by s.id) from subscription s join project p on p.id = s.project_id where p.name = 'theirs'),
                      (select string_agg(k.id::text || k.revoked_at, ',' order by k.id) from api_key k join project p on p.id = k.project_id where p.name = 'theirs'),
                      (select string_agg(q::text, ',' order by q.name) from queue q join project p on p.id = q.project_id where p.name = 'theirs'))) as digest`)
  return row?.digest ?? ''
}
