/** One of everything that can be named, in a project, and for each thing one of the same kind that nobody has. */
import { createHash, randomBytes, randomInt, randomUUID } from 'node:crypto'
import type { Database } from '../../../src/store/database/database.ts'
import { sql } from '../../../src/store/database/sql.ts'
import type { createTestApp, InjectedAnswer } from '../test-app.ts'

export type Send = Awaited<ReturnType<typeof createTestApp>>['send']

/** How a thing is named in a request: each kind is written in another way. */
export type Kind = 'id' | 'name' | 'hash' | 'number' | 'cursor' | 'position'

export type Things = Readonly<Record<Kind, readonly string[]>>

export const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi

/** The first number of a task with a number that both projects do not share. */
const FIRST_NUMBER = 740_000
const UNUSED_NUMBERS = 1_000_000

/**
 * Something of the same kind that nobody has. It has the same place in lists: ids carry the time at which they were made, and names
 * begin alike.
 */
export function unknownLike(kind: Kind, thing: string): string {
  switch (kind) {
    case 'hash':
      return randomBytes(thing.length / 2).toString('hex')
    case 'number':
      return String(UNUSED_NUMBERS + randomInt(UNUSED_NUMBERS))
    case 'cursor':
      return asCursor(renamed(Buffer.from(thing, 'base64url').toString()))
    default:
      return renamed(thing)
  }
}

const asCursor = (position: string) => Buffer.from(position).toString('base64url')

const renamed = (text: string) =>
  text
    .replace(UUID, (id) => id.slice(0, 14) + randomUUID().slice(14))
    .replaceAll('theirs', () => `t${letters('heirs'.length)}`)

const letters = (count: number) =>
  Array.from({ length: count }, () => String.fromCharCode(97 + randomInt(26))).join('')

/** A request that must succeed, as somebody. */
export function makerFor(send: Send, headers: Record<string, string>) {
  return async (
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ): Promise<InjectedAnswer['body']> => {
    const answer = await send(method, path, body, { ...headers, ...more })
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
    return answer.body
  }
}

/** Makes one of everything that has an id or a name, among it runs that a remote worker of the project has claimed. */
export async function makeThings(db: Database, send: Send, headers: Record<string, string>): Promise<Things> {
  const project = headers['belfry-project'] ?? ''
  const ask = makerFor(send, headers)
  const make = async (path: string, body: unknown): Promise<string> => (await ask('POST', path, body)).id
  const named = (what: string) => `${what}-${project}`
  const sleep = { type: 'sleep', duration: '0s' }
  const task = await make('/v1/tasks', {
    action: sleep,
    schedule: { type: 'every', interval: '1h' },
    startAt: '2026-01-01T00:00:00Z',
    key: named('key'),
    queue: named('queue'),
    owner: named('owner'),
    tags: [named('tag')],
  })
  await ask('PATCH', `/v1/tasks/${task}`, { name: 'second' })
  const waiting = await make(`/v1/tasks/${task}/trigger`, { overlap: 'allow' })
  const ended = await make(`/v1/tasks/${task}/trigger`, { overlap: 'allow' })
  await ask('POST', `/v1/runs/${ended}/cancel`)

  const handler = { type: 'handler', name: named('handler') }
  const handled = await make('/v1/tasks', { action: handler, retry: { limit: 0 } })
  const { workerId, token } = await ask('POST', '/v1/worker/register', { handlers: [handler.name] })
  const asWorker = { authorization: `Bearer ${token}` }
  const requestId = randomUUID()
  await ask('POST', '/v1/worker/claim', { requestId, limit: 1, waitMs: 0 }, asWorker)
  const failed = await make(`/v1/tasks/${handled}/trigger`, { overlap: 'allow' })
  const running = await make(`/v1/tasks/${handled}/trigger`, { overlap: 'allow' })
  await giveTo(db, workerId, [failed, running])
  const error = { message: `an error of ${project}` }
  const lease = { runId: failed, fence: FENCE }
  await ask('POST', '/v1/worker/complete', { runs: [{ ...lease, outcome: 'failed', error }] }, asWorker)

  const content = randomBytes(40)
  const file = await make('/v1/files', { name: named('file'), size: content.length })
  await ask('PUT', `/v1/files/${file}/content`, content, { 'content-type': 'application/octet-stream' })
  const origin = `https://${named('target')}.example.com`
  const secret = named('secret')
  for (const name of [secret, `${secret}-2`]) await ask('PUT', `/v1/secrets/${name}`, { value: 'a value' })
  await ask('PATCH', `/v1/targets/${encodeURIComponent(origin)}`, { limit: 7 })
  const repeatKey = named('idempotency')
  await ask('POST', '/v1/tasks', { action: sleep }, { 'idempotency-key': repeatKey })
  const range = { from: '2030-01-01T00:00:00Z', to: '2030-01-02T00:00:00Z' }
  const ids = [
    ...[task, waiting, ended, handled, failed, running, workerId, requestId, file],
    await make(`/v1/tasks/${task}/backfill`, { from: '2026-02-01T00:00:00Z', to: '2026-02-01T02:00:00Z' }),
    await make('/v1/blackouts', { name: 'b', window: { type: 'range', ...range } }),
    await make('/v1/subscriptions', { name: 's', url: 'https://example.com/' }),
    await make('/v1/signing-secrets', {}),
    await make('/v1/signing-secrets', { origin }),
    await make('/v1/dead-letters/redrive', { filter: { runIds: [ended] } }),
    await make('/v1/keys', { name: named('key'), role: 'viewer', project }),
    await make('/v1/members', { group: named('group'), role: 'viewer' }),
    await make('/v1/files', { name: named('waiting-file'), size: 1 }),
  ]
  const log = await ask('GET', '/v1/audit-log')
  ids.push(...log.items.slice(0, 3).map(({ id }: { id: string }) => id))
  const letter = (await ask('GET', '/v1/dead-letters')).items[0]
  const numbers = await makeNumbered(db, ask, project)
  const kinds = ['key', 'queue', 'owner', 'tag', 'handler', 'file', 'secret', 'group', 'idempotency']
  return {
    id: ids,
    name: [...kinds.map(named), origin, project],
    hash: [createHash('sha256').update(content).digest('hex'), letter.fingerprint],
    number: numbers,
    cursor: [...ids.map((id) => asCursor(JSON.stringify([id]))), ...(await cursorsOf(ask))],
    position: [`${failed}.ended`, ...(await positionsOf(send, headers, failed))],
  }
}

/** The fence of the runs that a worker holds, which requests about them name too. */
export const FENCE = 1

/** Nobody fires runs here, so a worker is given them. */
const giveTo = (db: Database, workerId: string, runs: readonly string[]) =>
  db.run(sql`
    update agenda set state = 'running', worker_id = ${workerId}, claimed_at = now(), fence = ${FENCE}, attempt = 1
    where run_id = any(${runs}::uuid[])`)

/** Tasks that are identified by numbers, which every project counts for itself. */
async function makeNumbered(db: Database, ask: ReturnType<typeof makerFor>, project: string) {
  await ask('POST', '/task/create', {})
  if (project === 'theirs')
    await db.run(sql`
      update task_number set last = ${FIRST_NUMBER}
      where project_id = (select id from project where name = ${project})`)
  const made = [await ask('POST', '/task/create', {}), await ask('POST', '/task/create', {})]
  return made.map(({ id }) => String(id))
}

/** Lists with pages whose cursors are of their own kind. */
const PAGED = ['/v1/tasks', '/v1/runs', '/v1/queues', '/v1/files', '/v1/secrets', '/v1/keys', '/v1/audit-log']

async function cursorsOf(ask: ReturnType<typeof makerFor>): Promise<string[]> {
  const pages = await Promise.all(PAGED.map((list) => ask('GET', `${list}?limit=1`)))
  return pages.flatMap(({ nextCursor }) => nextCursor ?? [])
}

/** Ids of events: where a stream begins, and in the middle of a page, which names a run. */
async function positionsOf(send: Send, headers: Record<string, string>, runId: string): Promise<string[]> {
  const { text } = await send('GET', '/v1/events?after=2020-01-01T00:00:00Z', undefined, headers)
  const [, start = '', frontier = ''] = /^id: (1\.(.*))$/m.exec(text) ?? []
  return [start, `${start}.${frontier}.${(Date.now() * 1_000).toString(36)}_${runId}`]
}
