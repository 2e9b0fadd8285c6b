/** Signed addresses: who may upload and download without a key, and for how long. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { downloadPath, UPLOAD } from '../../src/operations/files/addresses.ts'
import { AddressSigner } from '../../src/secrets/address-signer.ts'
import { KeySource } from '../../src/secrets/key-source.ts'
import { Vault } from '../../src/secrets/vault.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { aNode, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { aVault } from '../support/vault.ts'
import { aFile, aWaitingFile, download, put, someBytes } from './support.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { roles: 'api' })
const vault = aVault(db)
await vault.runOnce()
const addresses = new AddressSigner({ vault, clock: Date })
const projectId = DEFAULT_PROJECT_ID
const refusedAs = (code: string) => ({ status: 401, body: { code } })
const signature = (detail: string) => ({
  status: 401,
  body: { code: 'invalid_signature', detail: expect.stringContaining(detail) },
})

/** An attempt in progress, and the address of a file for it. */
async function aDownload(id: string) {
  const [task] = await tasksInAgenda(db)
  const runId = task?.runId ?? ''
  await db.run(sql`update agenda set state = 'running', fence = 4, worker_id = ${await aNode(db)}, claimed_at = now()
                   where run_id = ${runId}`)
  return {
    runId,
    path: await downloadPath({ addresses, clock: Date }, { id, projectId }, { runId, fence: 4, keyId: null }),
  }
}

test('an upload address is valid only for its file', async () => {
  const { uploadUrl } = await aWaitingFile(node)
  const other = await aWaitingFile(node)
  const token = new URL(uploadUrl).search

  const elsewhere = await put(node, `/v1/files/${other.id}/content${token}`, someBytes(10))
  const downloading = await node.request(
    'GET',
    `/v1/files/${await aFile(node, someBytes(10))}/content${token}`,
  )
  const changed = await put(node, `${uploadUrl}x`, someBytes(10))
  const empty = await put(node, `/v1/files/${other.id}/content?token=`, someBytes(10))

  expect(elsewhere).toMatchObject(signature('signed for another file'))
  expect(downloading).toMatchObject(signature('not valid for this request'))
  expect(changed).toMatchObject(signature('not valid for this request'))
  expect(empty.status).toBe(401)
})

test('an upload address expires, and an API key still uploads', async () => {
  const { id } = await aWaitingFile(node)
  const token = await addresses.sign(UPLOAD, { subject: id, projectId }, Date.now() - 2_000)

  const late = await put(node, `/v1/files/${id}/content?token=${token}`, someBytes(10))
  const received = (await node.request('GET', `/v1/files/${id}`)).body.receivedBytes
  const open = await put(node, `/v1/files/${id}/content`, someBytes(10))

  expect(late).toMatchObject(signature('has expired'))
  expect(received).toBe(0)
  expect(open.status).toBe(200)
})

test('uploads and downloads need a signature or a key, and the role viewer is not enough', async () => {
  const node = await startTestNode(await createTestDatabase(), { roles: 'api' })
  const { body: admin } = await node.request('POST', '/v1/keys', { name: 'admin', role: 'admin' })
  const asAdmin = { authorization: `Bearer ${admin.key}` }
  const { body: viewer } = await node.request('POST', '/v1/keys', { name: 'v', role: 'viewer' }, asAdmin)
  const { body: file } = await node.request('POST', '/v1/files', { name: 'a' }, asAdmin)
  const path = `/v1/files/${file.id}/content`
  const asViewer = { authorization: `Bearer ${viewer.key}` }

  expect(await put(node, path, someBytes(10))).toMatchObject(refusedAs('unauthenticated'))
  expect(await put(node, path, someBytes(10), asViewer)).toMatchObject({ status: 403 })
  expect(await put(node, file.uploadUrl, someBytes(10))).toMatchObject({ status: 200 })
  expect((await download(node, path)).status).toBe(401)
  expect((await download(node, path, asViewer)).status).toBe(403)
  expect((await download(node, path, asAdmin)).status).toBe(200)
})

test('an upload address becomes invalid when the key that created it is revoked', async () => {
  const guarded = await startTestNode(await createTestDatabase(), { roles: 'api' })
  const asKey = (key: string) => ({ authorization: `Bearer ${key}` })
  const { body: admin } = await guarded.request('POST', '/v1/keys', { name: 'admin', role: 'admin' })
  const editor = { name: 'leaves', role: 'editor', project: 'default' }
  const { body: leaving } = await guarded.request('POST', '/v1/keys', editor, asKey(admin.key))
  const files = await Promise.all(
    ['begun', 'late'].map(
      async (name) => (await guarded.request('POST', '/v1/files', { name }, asKey(leaving.key))).body,
    ),
  )

  const before = await put(guarded, files[0].uploadUrl, someBytes(10))
  await guarded.request('DELETE', `/v1/keys/${leaving.id}`, undefined, asKey(admin.key))
  const after = await put(guarded, files[1].uploadUrl, someBytes(10))

  expect(before.status).toBe(200)
  expect(after).toMatchObject(signature('an API key that is no longer valid'))
})

test('a download address is valid only while its attempt lasts', async () => {
  const bytes = someBytes(1_000)
  const { runId, path } = await aDownload(await aFile(node, bytes))

  const first = await download(node, path)
  const again = await download(node, path, { range: 'bytes=10-' })
  await db.run(sql`update agenda set fence = 5 where run_id = ${runId}`)
  const taken = await node.request('GET', path)
  await db.run(sql`delete from agenda where run_id = ${runId}`)
  const ended = await node.request('GET', path)

  expect(first.bytes.equals(bytes)).toBe(true)
  expect(again.bytes.equals(bytes.subarray(10))).toBe(true)
  for (const refused of [taken, ended]) expect(refused).toMatchObject(signature('attempt that has ended'))
})

test('an upload address of an archived project is refused', async () => {
  await node.request('POST', '/v1/projects', { name: 'gone' })
  const { body } = await node.request('POST', '/v1/files', { name: 'a' }, { 'belfry-project': 'gone' })
  await node.request('DELETE', '/v1/projects/gone')

  expect(await put(node, body.uploadUrl, someBytes(10))).toMatchObject({
    status: 409,
    body: { code: 'project_archived' },
  })
})

test('files of another project are not found', async () => {
  await node.request('POST', '/v1/projects', { name: 'theirs' })
  const id = await aFile(node, someBytes(10))
  const theirs = { 'belfry-project': 'theirs' }

  const answers = [
    await node.request('GET', `/v1/files/${id}`, undefined, theirs),
    await node.request('GET', `/v1/files/${id}/content`, undefined, theirs),
    await node.request('DELETE', `/v1/files/${id}`, undefined, theirs),
    await put(node, `/v1/files/${id}/content`, someBytes(10), theirs),
    await node.request('GET', `/v1/files/${uuidv7()}`),
  ]

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
  expect((await node.request('GET', '/v1/files', undefined, theirs)).body.items).toEqual([])
})

test('a node without a secrets key makes no file', async () => {
  const keyless = await createTestDatabase()
  const without = await startTestNode(keyless, { roles: 'api', secretsKey: undefined })

  const refused = await without.request('POST', '/v1/files', { name: 'a' })

  expect(refused).toMatchObject({ status: 503, body: { code: 'secrets_unavailable' } })
  expect(await keyless.db.run(sql`select id from file`)).toEqual([])
})

test('a node without the key of an address refuses it with that reason', async () => {
  const { id } = await aWaitingFile(node)
  const source = new KeySource({
    keys: Buffer.alloc(32, 'another').toString('base64'),
    file: null,
    ownFile: null,
  })
  const stranger = new Vault({ db, log: silentLogger(), source, nodeId: null, labels: [] })
  await stranger.runOnce()
  const signer = new AddressSigner({ vault: stranger, clock: Date })
  const token = await signer.sign(UPLOAD, { subject: id, projectId }, Date.now() + 60_000)

  const refused = await put(node, `/v1/files/${id}/content?token=${token}`, someBytes(10))

  expect(refused).toMatchObject(signature('a key that this node does not hold'))
})

test('refused signatures are in the audit log', async () => {
  const { id } = await aWaitingFile(node)
  await put(node, `/v1/files/${id}/content?token=made.up.token`, someBytes(10))
  await node.stop()

  const [entry] = await db.run(sql<{ after: { code: string } }>`
    select after from audit_entry where action = 'authentication.failed' and after ->> 'code' = 'invalid_signature'`)

  expect(entry?.after.code).toBe('invalid_signature')
})
