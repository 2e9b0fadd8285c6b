/** Requests signed with the secrets of a project, verified by the reference library in another process. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { SecretSigner } from '../../src/outgoing/signer.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { createTestApp } from '../api/test-app.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode, type TestNode } from '../support/node.ts'
import { aVault } from '../support/vault.ts'
import { type Peer, type Received, startPeer } from './peer.ts'

const aReceiver = () => startPeer<Received>('./receiver-process.mjs')

async function outcomeOf(node: TestNode, task: object) {
  const { body } = await node.request('POST', '/v1/tasks', { ...task, retry: { limit: 0 } })
  return eventually(async () => {
    const { items } = (await node.request('GET', `/v1/tasks/${body.id}/runs`)).body
    return items[0]?.endedAt ? items[0] : undefined
  })
}

const actionsAt = ({ port }: Peer<Received>) => {
  const url = `http://127.0.0.1:${port}`
  return [
    { type: 'ping', url: `${url}/ping` },
    { type: 'webhook', url: `${url}/webhook`, body: { hello: 'wörld 🎉', n: [1, 2.5, null] } },
    { type: 'webhook', url: `${url}/text`, body: 'as it is' },
    { type: 'http', url: `${url}/http`, method: 'PUT', body: {}, headers: { 'x-a': 'b' } },
  ]
}

test('a receiver verifies every kind of request, with either secret in use', async () => {
  const database = await createTestDatabase()
  const { send } = await createTestApp(database)
  const first = (await send('POST', '/v1/signing-secrets')).body
  const second = (await send('POST', '/v1/signing-secrets/rotate', { keepOldFor: '1h' })).body
  const receiver = await aReceiver()
  await receiver.say({ secrets: [first.secret, second.secret] })
  const node = await startTestNode(database)

  const runs = []
  for (const action of actionsAt(receiver)) runs.push(await outcomeOf(node, { action, tracingId: 'order 7' }))

  expect(runs.map(({ state }) => state)).toEqual(runs.map(() => 'completed'))
  expect(receiver.told.map(({ path }) => path)).toEqual(['/ping', '/webhook', '/text', '/http'])
  for (const [i, { headers, verified }] of receiver.told.entries()) {
    expect(verified).toEqual([true, true])
    expect(headers).toMatchObject({ 'webhook-id': runs[i].id, 'belfry-tracing-id': 'order 7' })
  }
})

test('without a signing secret requests are unsigned, and a receiver that requires a signature refuses them', async () => {
  const database = await createTestDatabase()
  const receiver = await aReceiver()
  await receiver.say({ secrets: [`whsec_${Buffer.alloc(32, 'x').toString('base64')}`] })
  const node = await startTestNode(database)

  const run = await outcomeOf(node, { action: actionsAt(receiver)[0] })

  expect(run).toMatchObject({ state: 'permanently_failed', error: { code: 'http_status' } })
  expect(receiver.told[0]?.headers).not.toHaveProperty('webhook-signature')
  expect(receiver.told[0]?.headers).not.toHaveProperty('belfry-tracing-id')
})

test('all attempts of a run share one id, each with its own number and signature', async () => {
  const database = await createTestDatabase()
  const { send } = await createTestApp(database)
  const { secret } = (await send('POST', '/v1/signing-secrets')).body
  const receiver = await aReceiver()
  await receiver.say({ secrets: [secret] })
  const node = await startTestNode(database)

  await node.request('POST', '/v1/tasks', {
    action: { type: 'webhook', url: `http://127.0.0.1:${receiver.port}/busy`, body: { a: 1 } },
    retry: { limit: 2, initial: '0s', max: '0s' },
  })
  await eventually(async () => receiver.told.length === 3)

  expect(receiver.told.map(({ verified }) => verified)).toEqual([[true], [true], [true]])
  expect(receiver.told.map(({ headers }) => headers['belfry-attempt'])).toEqual(['1', '2', '3'])
  expect(new Set(receiver.told.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  const fences = receiver.told.map(({ headers }) => Number(headers['belfry-fence']))
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
})

const otherOriginOf = ({ port }: Peer<Received>) => `http://localhost:${port}`

test('requests to an origin with its own secrets are signed with them and with no secret of the project', async () => {
  const database = await createTestDatabase()
  const { send } = await createTestApp(database)
  const receiver = await aReceiver()
  const origin = `http://127.0.0.1:${receiver.port}`
  const general = (await send('POST', '/v1/signing-secrets')).body
  const first = (await send('POST', '/v1/signing-secrets', { origin })).body
  const second = (await send('POST', '/v1/signing-secrets/rotate', { origin, keepOldFor: '1h' })).body
  await receiver.say({ secrets: [general.secret, first.secret, second.secret] })
  const node = await startTestNode(database)

  for (const action of actionsAt(receiver)) await outcomeOf(node, { action })
  await outcomeOf(node, { action: { type: 'ping', url: `${otherOriginOf(receiver)}/elsewhere` } })

  expect(receiver.told.map(({ path, verified }) => [path, ...verified])).toEqual([
    ['/ping', false, true, true],
    ['/webhook', false, true, true],
    ['/text', false, true, true],
    ['/http', false, true, true],
    ['/elsewhere', true, false, false],
  ])
})

test('events are signed with the secrets of their subscription and their origin', async () => {
  const database = await createTestDatabase()
  const { send } = await createTestApp(database)
  const receiver = await aReceiver()
  const origin = `http://127.0.0.1:${receiver.port}`
  const general = (await send('POST', '/v1/signing-secrets')).body
  const bound = (await send('POST', '/v1/signing-secrets', { origin })).body
  const own = (await send('POST', '/v1/subscriptions', { url: `${origin}/events` })).body
  await receiver.say({ secrets: [general.secret, bound.secret, own.secret] })
  const node = await startTestNode(database)

  const { body: tested } = await node.request('POST', `/v1/subscriptions/${own.id}/test`)
  await outcomeOf(node, { action: { type: 'sleep', duration: '0s' } })
  await eventually(async () => receiver.told.length === 2)

  expect(tested).toMatchObject({ delivered: true })
  expect(receiver.told.map(({ verified }) => verified)).toEqual([
    [false, true, true],
    [false, true, true],
  ])
})

test('requests are signed with the secrets of the project once the last secret of their origin has expired', async () => {
  const { db } = await createTestDatabase()
  let now = Date.now()
  const signer = new SecretSigner({ db, clock: { now: () => now }, log: silentLogger(), vault: aVault(db) })
  const message = { id: 'a', timestamp: '1', body: '' }
  const bound = { projectId: DEFAULT_PROJECT_ID, origin: ORIGIN }
  await db.run(sql`
    insert into signing_secret (id, project_id, secret) values (${uuidv7()}, ${DEFAULT_PROJECT_ID}, ${Buffer.alloc(32, 1)})`)
  await db.run(sql`
    insert into endpoint_signing_secret (id, project_id, origin, secret, expires_at) values
      (${uuidv7()}, ${DEFAULT_PROJECT_ID}, ${ORIGIN}, ${Buffer.alloc(32, 2)}, ${new Date(now + 60_000)})`)
  await signer.runOnce()

  const before = signer.sign(bound, message)
  now += 60_001
  const after = signer.sign(bound, message)

  const general = signer.sign({ ...bound, origin: 'https://other.example' }, message)
  expect(before).not.toBe(general)
  expect(after).toBe(general)
})

const ORIGIN = 'https://example.com'

test('a signing secret is used until it expires, and never for another project', async () => {
  const { db } = await createTestDatabase()
  let now = Date.now()
  const signer = new SecretSigner({ db, clock: { now: () => now }, log: silentLogger(), vault: aVault(db) })
  const message = { id: 'a', timestamp: '1', body: '' }
  const to = (projectId: string) => ({ projectId, origin: ORIGIN })
  const other = uuidv7()
  await db.run(sql`insert into project (id, name) values (${other}, 'other')`)
  await db.run(sql`
    insert into signing_secret (id, project_id, secret, expires_at) values
      (${uuidv7()}, ${DEFAULT_PROJECT_ID}, ${Buffer.alloc(32, 1)}, ${new Date(now + 60_000)}),
      (${uuidv7()}, ${DEFAULT_PROJECT_ID}, ${Buffer.alloc(32, 2)}, null),
      (${uuidv7()}, ${DEFAULT_PROJECT_ID}, ${Buffer.alloc(32, 3)}, ${new Date(now - 60_000)}),
      (${uuidv7()}, ${other}, ${Buffer.alloc(32, 4)}, null)`)
  await signer.runOnce()

  const before = signer.sign(to(DEFAULT_PROJECT_ID), message)?.split(' ')
  now += 60_001
  const after = signer.sign(to(DEFAULT_PROJECT_ID), message)?.split(' ')

  expect(before).toHaveLength(2)
  expect(after).toEqual([before?.[0]])
  expect(signer.sign(to(other), message)?.split(' ')).toHaveLength(1)
  expect(before).not.toContain(signer.sign(to(other), message))
  expect(signer.sign(to(uuidv7()), message)).toBeUndefined()
})
