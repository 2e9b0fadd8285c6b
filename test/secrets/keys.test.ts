/** The keys that secrets are encrypted with: nodes with other ones, replacing them while runs go on, and files that are made. */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { EncryptionKeys } from '../../src/api/resources/secrets/schemas.ts'
import { newKey } from '../../src/core/secret/key-ring.ts'
import { SigningSealer } from '../../src/maintenance/signing-sealer.ts'
import { KeySource } from '../../src/secrets/key-source.ts'
import { openSigning } from '../../src/secrets/signing.ts'
import { Vault } from '../../src/secrets/vault.ts'
import { sql } from '../../src/store/database/sql.ts'
import { liveSecrets } from '../../src/store/projects/signing-secrets.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { createTestApp } from '../api/test-app.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aManualTask, startTestNode, type TestNode } from '../support/node.ts'
import { aDirectory } from '../support/process.ts'
import { startSharedSink } from '../support/sink.ts'
import { aVault } from '../support/vault.ts'

const sink = await startSharedSink()
const action = { type: 'ping', url: `${sink.url}/{{secret.TOKEN}}` }
const put = (node: TestNode, value: string) => node.request('PUT', '/v1/secrets/TOKEN', { value })
const trigger = async (node: TestNode, taskId: string): Promise<string> =>
  (await node.request('POST', `/v1/tasks/${taskId}/trigger`, {})).body.id
const runOf = async (node: TestNode, id: string) => (await node.request('GET', `/v1/runs/${id}`)).body
const secretsOf = async (node: TestNode, nodeId = node.id) =>
  (await node.request('GET', '/v1/nodes')).body.items.find(({ id }: { id: string }) => id === nodeId).secrets
const keysOf = async (node: TestNode): Promise<EncryptionKeys> =>
  (await node.request('GET', '/v1/secrets-key')).body

test('a node with another key or none reports it, and leaves runs with secrets to a node with the key', async () => {
  const database = await createTestDatabase()
  const secretsKey = newKey()
  const first = await startTestNode(database, { secretsKey })
  await put(first, 'canary-one')
  expect(await secretsOf(first)).toBe('ready')
  await first.stop()
  const other = await startTestNode(database, { secretsKey: newKey() })
  const none = await startTestNode(database, { secretsKey: undefined })
  const id = await aManualTask(other, { action })
  const plain = await aManualTask(other)

  const runId = await trigger(other, id)
  const plainRun = await trigger(none, plain)

  expect([await secretsOf(other), await secretsOf(none)]).toEqual(['other_key', 'no_key'])
  await eventually(async () => (await runOf(none, plainRun)).state === 'completed')
  const why = await eventually(async () => {
    const { body } = await none.request('GET', `/v1/tasks/${id}/why`)
    return body.code === 'no_secrets_key' && body
  })
  expect(why.facts.runId).toBe(runId)
  expect(await runOf(none, runId)).toMatchObject({ state: 'pending', attempts: [] })
  const listed = await keysOf(none)
  const [lost, held] = listed.keys.map(({ fingerprint }) => fingerprint)
  expect(listed).toMatchObject({
    keys: [
      { isInUse: true, values: { count: 1, atLeast: false }, firstOn: 0, heldBy: 0 },
      { isInUse: false, values: { count: 0, atLeast: false } },
    ],
    unencrypted: { count: 0, atLeast: false },
    nodes: expect.arrayContaining([
      { id: other.id, name: expect.any(String), secrets: 'other_key', keys: [held], missing: [lost] },
      { id: none.id, name: expect.any(String), secrets: 'no_key', keys: [], missing: [lost, held] },
    ]),
  })
  expect(await put(other, 'x')).toMatchObject({ status: 503, body: { code: 'secrets_unavailable' } })
  expect(await put(none, 'x')).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining('BELFRY_SECRETS_KEY') },
  })
  const right = await startTestNode(database, { secretsKey })
  await eventually(async () => (await runOf(right, runId)).state === 'completed')
  expect(await runOf(right, runId)).toMatchObject({ attempts: [{ number: 1 }] })
  expect(sink.hits.at(-1)?.path).toBe('/canary-one')
})

test('a node without the key performs no runs while the mail settings of a project refer to secrets', async () => {
  const { db } = await createTestDatabase()
  const source = new KeySource({ keys: null, file: null, ownFile: null })
  const vault = new Vault({ db, log: silentLogger(), source, nodeId: null, labels: [] })
  const changes: boolean[] = []
  vault.onChange(() => changes.push(vault.canPerform))
  await vault.runOnce()

  await db.run(sql`update project set mail_server = 'smtp://shop:{{secret.P}}@mail.example.com'`)
  await vault.runOnce()
  await db.run(sql`update project set mail_server = 'smtp://mail.example.com'`)
  await vault.runOnce()
  await vault.runOnce()

  expect(changes).toEqual([true, false, true])
})

/** Waits until every node has so many keys, and the one that is in use is, or is no longer, the first. */
const untilFirstIs = (node: TestNode, wanted: { readonly first: 'old' | 'new'; readonly keys: number }) =>
  eventually(async () => {
    const { keys, nodes } = await keysOf(node)
    const isFirst = (isInUse: boolean) =>
      keys.find((key) => key.isInUse === isInUse)?.firstOn === nodes.length
    return (
      keys.length === wanted.keys &&
      keys.every(({ heldBy }) => heldBy === nodes.length) &&
      isFirst(wanted.first === 'old')
    )
  })

test('runs continue without failure while the key is replaced', async () => {
  const database = await createTestDatabase()
  const [before, after] = [newKey(), newKey()]
  const file = join(aDirectory(), 'keys')
  writeFileSync(file, before, { mode: 0o600 })
  const nodes = [
    await startTestNode(database, { secretsKey: undefined, secretsKeyFile: file }),
    await startTestNode(database, { secretsKey: undefined, secretsKeyFile: file }),
  ]
  const [one] = nodes as [TestNode]
  await put(one, 'canary-rotated')
  const { secret } = (await one.request('POST', '/v1/signing-secrets')).body
  const every = await one.request('POST', '/v1/tasks', {
    action,
    schedule: { type: 'every', interval: '100ms' },
    overlap: 'allow',
  })

  writeFileSync(file, `${before}\n${after}\n`)
  await untilFirstIs(one, { first: 'old', keys: 2 })
  writeFileSync(file, `${after}\n${before}\n`)
  await untilFirstIs(one, { first: 'new', keys: 2 })
  const { body: rotation } = await one.request('POST', '/v1/secrets-key/rotate')
  const again = (await one.request('POST', '/v1/secrets-key/rotate')).body
  const { keys } = await keysOf(one)
  writeFileSync(file, `${after}\n`)
  const seen = sink.hits.length
  await eventually(async () => sink.hits.length > seen + 20)

  expect(rotation).toMatchObject({ unreadable: 0, retired: [expect.any(String)] })
  expect(rotation.encrypted).toBeGreaterThanOrEqual(2)
  expect(again).toMatchObject({ encrypted: 0, unreadable: 0 })
  expect(keys).toMatchObject([
    { fingerprint: rotation.key, isInUse: true, values: { count: rotation.encrypted } },
    { fingerprint: rotation.retired[0], isInUse: false, firstOn: 0 },
  ])
  const runs = (await one.request('GET', `/v1/tasks/${every.body.id}/runs?limit=200`)).body.items
  // Occurrences may be skipped while the second node takes over its shards; none of those that ran may fail.
  const failed = ['retrying', 'permanently_failed', 'cancelled']
  expect(runs.filter(({ state }: { state: string }) => failed.includes(state))).toEqual([])
  expect(await Promise.all(nodes.map((node) => secretsOf(node)))).toEqual(['ready', 'ready'])
  const only = aVault(database.db, after)
  await only.runOnce()
  const [stored] = await database.db.run(liveSecrets())
  expect(stored && `whsec_${openSigning(only, stored).toString('base64')}`).toBe(secret)
})

test('plaintext signing secrets are encrypted once every node can read them', async () => {
  const { db } = await createTestDatabase()
  const { send, context } = await createTestApp({ db })
  const { vault } = context
  const sealer = new SigningSealer({ db, vault, log: silentLogger() })
  await db.run(
    sql`insert into node (id, name, version, roles) values (gen_random_uuid(), 'old', '0.1.0', '{worker}')`,
  )
  const { secret } = (await send('POST', '/v1/signing-secrets')).body
  const bound = (await send('POST', '/v1/signing-secrets', { origin: 'https://example.com' })).body.secret
  const subscription = (await send('POST', '/v1/subscriptions', { url: 'https://example.com/hook' })).body
  const plain = await send('GET', '/v1/secrets-key')

  await sealer.runOnce()
  const whilePlain = await db.run(liveSecrets())
  await db.run(sql`update node set dead_at = now(), reason = 'stopped'`)
  await sealer.runOnce()

  expect(plain.body).toMatchObject({
    unencrypted: { count: 3 },
    nodes: [{ name: 'old', secrets: null, keys: null, missing: null }],
  })
  expect(whilePlain.map(({ keyId }) => keyId)).toEqual([null, null])
  const sealed = await db.run(liveSecrets())
  const opened = sealed.map((row) => `whsec_${openSigning(vault, row).toString('base64')}`)
  expect(opened.sort()).toEqual([secret, bound].sort())
  const dump = JSON.stringify(
    await db.run(sql`
    select encode(secret, 'base64') as a, encode(secret, 'hex') as b from signing_secret
    union all select encode(secret, 'base64'), encode(secret, 'hex') from endpoint_signing_secret
    union all select secret, key_id from subscription`),
  )
  for (const value of [secret, bound, subscription.secret]) expect(dump).not.toContain(value.slice(6, 40))
  const [row] = await db.run(sql<{ oldest: number }>`select oldest_migration as oldest from compatibility`)
  expect(row?.oldest).toBeGreaterThan(50)
  const fresh = (await send('POST', '/v1/signing-secrets/rotate', { keepOldFor: '0s' })).body.secret
  expect(
    JSON.stringify(await db.run(sql`select encode(secret, 'base64') from signing_secret`)),
  ).not.toContain(fresh.slice(6))
})

test('a node creates its key once, readable by its owner only, and never replaces a lost one', async () => {
  const { db } = await createTestDatabase()
  const ownFile = join(aDirectory(), 'secrets.key')
  const vaultWith = (file: string) =>
    new Vault({
      db,
      log: silentLogger(),
      nodeId: null,
      labels: [],
      source: new KeySource({
        keys: null,
        file: null,
        ownFile: { path: file, withRights: (work) => work() },
      }),
    })
  const vault = vaultWith(ownFile)
  await vault.runOnce()
  const text = readFileSync(ownFile, 'utf8')
  await vaultWith(ownFile).runOnce()

  expect(vault.state).toBe('ready')
  expect(statSync(ownFile).mode & 0o777).toBe(0o600)
  expect(readFileSync(ownFile, 'utf8')).toBe(text)
  await db.run(sql`insert into secrets_key (fingerprint) values (${vault.ring?.first.fingerprint ?? ''})`)
  const lost = vaultWith(join(aDirectory(), 'secrets.key'))
  await lost.runOnce()
  expect(lost.state).toBe('no_key')
  writeFileSync(ownFile, 'hunter2 is no key')
  chmodSync(ownFile, 0o600)
  await expect(vault.runOnce()).rejects.toThrow(/^The file .*secrets\.key must contain keys(?!.*hunter2)/)
})
