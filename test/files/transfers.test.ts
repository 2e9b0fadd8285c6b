/** Uploads under adverse conditions: nodes that stop or die, limits, and many at once. */
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { MAX_TRANSFERS_OF_PROJECT } from '../../src/api/resources/files/transfers.ts'
import { CHUNK_BYTES } from '../../src/core/file/file.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startBelfry } from '../support/process.ts'
import { TEST_KEY } from '../support/vault.ts'
import { aFile, aWaitingFile, download, type FileNode, put, rangeOf, sha256, someBytes } from './support.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { roles: 'api' })

/** Begins an upload and leaves it open. */
function beginUpload(address: string, total: number) {
  const { hostname, port, pathname, search } = new URL(address)
  const headers = { 'content-length': total }
  const sending = httpRequest({
    agent: false,
    hostname,
    port,
    path: pathname + search,
    method: 'PUT',
    headers,
  })
  const ended = new Promise<number | null>((resolve) => {
    sending.on('error', () => resolve(null))
    sending.on('response', (response) => resolve(response.resume().statusCode ?? null))
  })
  sending.flushHeaders()
  return { sending, ended }
}

const stored = (at: FileNode, id: string, bytes: number) =>
  eventually(async () => (await at.request('GET', `/v1/files/${id}`)).body.receivedBytes === bytes)

describe('a node that stops during an upload', () => {
  test('loses no stored chunk when it is killed, and another node continues the upload', async () => {
    const args = ['--database-url', database.url, '--roles', 'api', '--port', '0']
    const doomed = await startBelfry(args, { env: { BELFRY_SECRETS_KEY: TEST_KEY } })
    const bytes = someBytes(4 * CHUNK_BYTES + 10)
    const { id, uploadUrl } = await aWaitingFile(doomed, { sha256: sha256(bytes), size: bytes.length })
    const { sending, ended } = beginUpload(uploadUrl, bytes.length)
    sending.write(bytes.subarray(0, 2 * CHUNK_BYTES + 100))
    await stored(node, id, 2 * CHUNK_BYTES)

    doomed.kill('SIGKILL')
    await doomed.exited
    const rest = bytes.subarray(2 * CHUNK_BYTES)
    const { pathname, search } = new URL(uploadUrl)
    const resumed = await put(node, pathname + search, rest, rangeOf(2 * CHUNK_BYTES, rest, bytes.length))

    expect(await ended).toBeNull()
    expect(resumed).toMatchObject({ status: 200, body: { state: 'ready', sha256: sha256(bytes) } })
    expect((await download(node, `/v1/files/${id}/content`)).bytes.equals(bytes)).toBe(true)
  })

  test('does not wait for the upload', async () => {
    const leaving = await startTestNode(database, { roles: 'api' })
    const bytes = someBytes()
    const { id, uploadUrl } = await aWaitingFile(leaving)
    const { sending, ended } = beginUpload(uploadUrl, bytes.length)
    sending.write(bytes.subarray(0, CHUNK_BYTES))
    await stored(node, id, CHUNK_BYTES)

    await leaving.stop()

    expect(await ended).toBeNull()
    const rest = bytes.subarray(CHUNK_BYTES)
    const resumed = await put(node, `/v1/files/${id}/content`, rest, rangeOf(CHUNK_BYTES, rest, bytes.length))
    expect(resumed.body.sha256).toBe(sha256(bytes))
  })
})

test('the uploads of a project on a node are limited, without delaying downloads and other projects', async () => {
  const ready = await aFile(node, someBytes(10))
  await node.request('POST', '/v1/projects', { name: 'others' })
  const { body: other } = await node.request(
    'POST',
    '/v1/files',
    { name: 'a' },
    { 'belfry-project': 'others' },
  )
  const open = await Promise.all(
    Array.from({ length: MAX_TRANSFERS_OF_PROJECT }, async () => {
      const { id, uploadUrl } = await aWaitingFile(node)
      const upload = beginUpload(uploadUrl, 2 * CHUNK_BYTES)
      upload.sending.write(someBytes(CHUNK_BYTES))
      await stored(node, id, CHUNK_BYTES)
      return upload
    }),
  )
  const { uploadUrl } = await aWaitingFile(node)

  const refused = await put(node, uploadUrl, someBytes(10))
  const downloaded = await download(node, `/v1/files/${ready}/content`)
  const ofOthers = await put(node, other.uploadUrl, someBytes(10))
  for (const { sending } of open) sending.destroy()
  const [accepted] = await Promise.all([
    eventually(async () => (await put(node, uploadUrl, someBytes(10))).status === 200),
    ...open.map(({ ended }) => ended),
  ])

  expect(refused).toMatchObject({ status: 503, body: { code: 'busy' } })
  expect(refused.headers.get('retry-after')).toBe('5')
  expect([downloaded.status, ofOthers.status]).toEqual([200, 200])
  expect(accepted).toBe(true)
})

test('an upload to a file that is deleted meanwhile gets 404', async () => {
  const { id, uploadUrl } = await aWaitingFile(node)
  const { sending, ended } = beginUpload(uploadUrl, 3 * CHUNK_BYTES)
  sending.write(someBytes(CHUNK_BYTES))
  await stored(node, id, CHUNK_BYTES)

  await node.request('DELETE', `/v1/files/${id}`)
  sending.end(someBytes(2 * CHUNK_BYTES))

  expect(await ended).toBe(404)
})

describe('the limit of stored bytes', () => {
  const asProject = { 'belfry-project': 'limited' }
  const limitTo = async (maxStoredBytes: number | null) => {
    const { status } = await node.request('PATCH', '/v1/projects/limited', { limits: { maxStoredBytes } })
    expect(status).toBe(200)
    // Limits that were set a moment ago are counted with caution, and take turns.
    await db.run(sql`update project_use set since = now() - interval '1 minute'`)
  }

  test('an upload stops when the project is full, and continues once there is room', async () => {
    await node.request('POST', '/v1/projects', { name: 'limited' })
    await limitTo(4 * CHUNK_BYTES)
    const first = someBytes(2 * CHUNK_BYTES)
    const bytes = someBytes(4 * CHUNK_BYTES)
    const create = async () => (await node.request('POST', '/v1/files', { name: 'a' }, asProject)).body
    const kept = await create()
    await put(node, kept.uploadUrl, first)
    const { id, uploadUrl } = await create()

    const full = await put(node, uploadUrl, bytes)
    const received = (await node.request('GET', `/v1/files/${id}`, undefined, asProject)).body.receivedBytes
    const used = await eventually(
      async () => (await node.request('GET', '/v1/projects/limited')).body.use.storedBytes || undefined,
    )
    await node.request('DELETE', `/v1/files/${kept.id}`, undefined, asProject)
    const rest = bytes.subarray(received)
    const resumed = await put(node, uploadUrl, rest, rangeOf(received, rest, bytes.length))

    expect(full).toMatchObject({
      status: 409,
      body: { code: 'too_much_stored', limit: { maxStoredBytes: 4 * CHUNK_BYTES } },
    })
    expect(received).toBe(2 * CHUNK_BYTES)
    expect(used).toBe(4 * CHUNK_BYTES)
    expect(resumed).toMatchObject({ status: 200, body: { state: 'ready', sha256: sha256(bytes) } })
  })

  test('shared bytes count once, and concurrent uploads together stay within the limit', async () => {
    await limitTo(null)
    const bytes = someBytes(2 * CHUNK_BYTES)
    const announced = { name: 'a', sha256: sha256(bytes), size: bytes.length }
    const { uploadUrl } = (await node.request('POST', '/v1/files', announced, asProject)).body
    await put(node, uploadUrl, bytes)
    await limitTo(4 * CHUNK_BYTES + 6 * CHUNK_BYTES)

    const shared = await node.request('POST', '/v1/files', announced, asProject)
    const waiting = await Promise.all(
      Array.from({ length: 4 }, () => node.request('POST', '/v1/files', { name: 'b' }, asProject)),
    )
    const answers = await Promise.all(
      waiting.map(({ body }) => put(node, body.uploadUrl, someBytes(3 * CHUNK_BYTES))),
    )

    expect(shared.body.state).toBe('ready')
    expect(answers.some(({ status }) => status === 409)).toBe(true)
    const [sum] = await db.run(sql<{ bytes: number }>`
      select sum(received) as bytes from file_content c join project p on p.id = c.project_id
      where p.name = 'limited' and c.dropped_at is null`)
    expect(Number(sum?.bytes)).toBeLessThanOrEqual(10 * CHUNK_BYTES)
  })
})

test('the download of a file that is deleted meanwhile fails instead of ending early', async () => {
  const bytes = someBytes(24 * 1024 * 1024)
  const id = await aFile(node, bytes)
  const answer = await fetch(`${node.url}/v1/files/${id}/content`)
  const reader = answer.body?.getReader()
  await reader?.read()

  await node.request('DELETE', `/v1/files/${id}`)
  await db.run(sql`delete from file_chunk where position > ${CHUNK_BYTES}`)
  const readAll = async () => {
    while (!(await reader?.read())?.done);
  }

  await expect(readAll()).rejects.toThrow()
})
