/** Uploading files: at once, in parts, broken off, wrong, twice. */
import { expect, test } from 'vitest'
import { CHUNK_BYTES } from '../../src/core/file/file.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import {
  aFile,
  aWaitingFile,
  download,
  put,
  putAndBreak,
  putPieces,
  rangeOf,
  sha256,
  someBytes,
} from './support.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { roles: 'api', maxFileBytes: 3 * 1024 * 1024 })
const shown = async (id: string) => (await node.request('GET', `/v1/files/${id}`)).body
const contents = async () =>
  (await db.run(sql<{ id: string }>`select id from file_content where dropped_at is null`)).length

test('a file is created, uploaded without a key, and downloaded unchanged', async () => {
  const bytes = someBytes()
  const created = await node.request('POST', '/v1/files', { name: 'backup.sh' })
  const { id, uploadUrl } = created.body

  const uploaded = await put(node, uploadUrl, bytes)

  expect(created).toMatchObject({
    status: 201,
    body: { name: 'backup.sh', state: 'waiting', size: null, sha256: null, receivedBytes: 0, kind: null },
  })
  expect(created.headers.get('location')).toBe(`/v1/files/${id}`)
  expect(uploadUrl).toMatch(new RegExp(`^${node.url}/v1/files/${id}/content\\?token=`))
  const ready = { id, state: 'ready', size: bytes.length, sha256: sha256(bytes), receivedBytes: bytes.length }
  expect(uploaded).toMatchObject({ status: 200, body: { ...ready, kind: 'data' } })
  expect(await shown(id)).toMatchObject({ ...ready, usedBy: [], hasMoreUsers: false })
  const answer = await download(node, `/v1/files/${id}/content`)
  expect(answer.bytes.equals(bytes)).toBe(true)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-length': String(bytes.length),
    'content-type': 'application/octet-stream',
    'content-disposition': "attachment; filename*=UTF-8''backup.sh",
    etag: `"${sha256(bytes)}"`,
  })
})

test('an upload without a length is stored', async () => {
  const pieces = [10, CHUNK_BYTES, 1, 300_000, 77].map((length) => someBytes(length))
  const { id, uploadUrl } = await aWaitingFile(node)

  const uploaded = await putPieces(node, uploadUrl, pieces)

  const bytes = Buffer.concat(pieces)
  expect(uploaded).toMatchObject({ status: 200, body: { size: bytes.length, sha256: sha256(bytes) } })
  expect((await download(node, `/v1/files/${id}/content`)).bytes.equals(bytes)).toBe(true)
})

test('an interrupted upload continues after the bytes that are stored', async () => {
  const bytes = someBytes()
  const { id, uploadUrl } = await aWaitingFile(node, { size: bytes.length, sha256: sha256(bytes) })
  await putAndBreak(node, uploadUrl, bytes, { stored: CHUNK_BYTES, id })
  const rest = bytes.subarray(CHUNK_BYTES)

  const early = await put(node, uploadUrl, bytes.subarray(10), rangeOf(10, bytes.subarray(10), bytes.length))
  const late = await put(
    node,
    uploadUrl,
    rest.subarray(1),
    rangeOf(CHUNK_BYTES + 1, rest.subarray(1), bytes.length),
  )
  const resumed = await put(node, uploadUrl, rest, rangeOf(CHUNK_BYTES, rest, bytes.length))

  for (const refused of [early, late])
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'upload_conflict', receivedBytes: CHUNK_BYTES },
    })
  expect(resumed).toMatchObject({ status: 200, body: { state: 'ready', sha256: sha256(bytes) } })
  expect((await download(node, `/v1/files/${id}/content`)).bytes.equals(bytes)).toBe(true)
})

test('a file is uploaded in parts, and only the last one gives the total size', async () => {
  const parts = [CHUNK_BYTES, CHUNK_BYTES + 5, 100].map((length) => someBytes(length))
  const [first, second, last] = parts as [Buffer, Buffer, Buffer]
  const bytes = Buffer.concat(parts)
  const { uploadUrl } = await aWaitingFile(node)

  const answers = [
    await put(node, uploadUrl, first, rangeOf(0, first, '*')),
    await put(node, uploadUrl, second, rangeOf(first.length, second, '*')),
    await put(node, uploadUrl, last, rangeOf(first.length + second.length, last, bytes.length)),
  ]

  expect(answers.map(({ status, body }) => [status, body.state, body.receivedBytes])).toEqual([
    [200, 'waiting', CHUNK_BYTES],
    [200, 'waiting', 2 * CHUNK_BYTES + 5],
    [200, 'ready', bytes.length],
  ])
  expect(answers.at(-1)?.body.sha256).toBe(sha256(bytes))
})

test('an upload whose bytes are all stored is completed by a request without a body', async () => {
  const bytes = someBytes(CHUNK_BYTES)
  const { id, uploadUrl } = await aWaitingFile(node)
  await put(node, uploadUrl, bytes, rangeOf(0, bytes, '*'))
  const total = (length: number) => ({ 'content-range': `bytes */${length}` })

  const short = await put(node, uploadUrl, Buffer.alloc(0), total(bytes.length + 1))
  const complete = await put(node, uploadUrl, Buffer.alloc(0), total(bytes.length))

  expect(short).toMatchObject({ status: 409, body: { receivedBytes: bytes.length } })
  expect(complete).toMatchObject({ status: 200, body: { id, state: 'ready', sha256: sha256(bytes) } })
})

test('an upload from the beginning replaces one that was interrupted', async () => {
  const bytes = someBytes()
  const { id, uploadUrl } = await aWaitingFile(node)
  await putAndBreak(node, uploadUrl, someBytes(), { stored: CHUNK_BYTES, id })

  const uploaded = await put(node, uploadUrl, bytes)

  expect(uploaded).toMatchObject({ status: 200, body: { sha256: sha256(bytes), size: bytes.length } })
})

test('of several uploads that continue one file at once, exactly one succeeds', async () => {
  const bytes = someBytes(6 * CHUNK_BYTES)
  const { id, uploadUrl } = await aWaitingFile(node, { sha256: sha256(bytes) })
  await putAndBreak(node, uploadUrl, bytes, { stored: CHUNK_BYTES, id })
  const rest = bytes.subarray(CHUNK_BYTES)
  const continuing = () => put(node, uploadUrl, rest, rangeOf(CHUNK_BYTES, rest, bytes.length))

  const answers = await Promise.all([continuing(), continuing(), continuing()])

  const statuses = answers.map(({ status }) => status).sort()
  expect(statuses).toEqual([200, 409, 409])
  expect((await download(node, `/v1/files/${id}/content`)).bytes.equals(bytes)).toBe(true)
})

test('of two complete uploads to one file at once, exactly one succeeds', async () => {
  const [a, b] = [someBytes(6 * CHUNK_BYTES), someBytes(6 * CHUNK_BYTES)] as const
  const { id, uploadUrl } = await aWaitingFile(node)

  const answers = await Promise.all([put(node, uploadUrl, a), put(node, uploadUrl, b)])

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  const { bytes } = await download(node, `/v1/files/${id}/content`)
  expect([sha256(a), sha256(b)]).toContain(sha256(bytes))
})

test('files with the same bytes share one copy, with or without an announced hash', async () => {
  const bytes = someBytes()
  const first = await aFile(node, bytes)
  const before = await contents()

  const announced = await node.request('POST', '/v1/files', {
    name: 'again',
    sha256: sha256(bytes),
    size: bytes.length,
  })
  const unannounced = await aFile(node, bytes)

  expect(announced).toMatchObject({
    status: 201,
    body: { state: 'ready', size: bytes.length, uploadUrl: null, uploadExpiresAt: null, kind: 'data' },
  })
  expect(await contents()).toBe(before)
  for (const id of [first, unannounced]) await node.request('DELETE', `/v1/files/${id}`)
  expect((await download(node, `/v1/files/${announced.body.id}/content`)).bytes.equals(bytes)).toBe(true)
  await node.request('DELETE', `/v1/files/${announced.body.id}`)
  expect(await contents()).toBe(before - 1)
})

test('files that become ready with the same bytes at the same time share them', async () => {
  const bytes = someBytes(CHUNK_BYTES)
  const waiting = await Promise.all(Array.from({ length: 8 }, () => aWaitingFile(node)))

  const answers = await Promise.all(waiting.map(({ uploadUrl }) => put(node, uploadUrl, bytes)))

  expect(answers.map(({ status }) => status)).toEqual(waiting.map(() => 200))
  const [shared] = await db.run(
    sql<{
      count: number
    }>`select count(distinct content_id) as count from file where sha256 = ${sha256(bytes)}`,
  )
  expect(shared?.count).toBe(1)
})

test('a wrong hash or size is refused, and the upload starts over', async () => {
  const bytes = someBytes(CHUNK_BYTES + 10)
  const other = someBytes(bytes.length)
  const { id, uploadUrl } = await aWaitingFile(node, { sha256: sha256(bytes), size: bytes.length })

  const wrongHash = await put(node, uploadUrl, other)
  const short = await put(node, uploadUrl, bytes.subarray(1))
  const shortPieces = await putPieces(node, uploadUrl, [bytes.subarray(1)])
  const longPieces = await putPieces(node, uploadUrl, [bytes, Buffer.from('x')])

  for (const refused of [wrongHash, short, shortPieces, longPieces])
    expect(refused).toMatchObject({ status: 422, body: { code: 'content_mismatch' } })
  expect(wrongHash.body.detail).toContain(sha256(other))
  expect(short.body.detail).toContain(
    `announced with ${bytes.length} bytes, but the upload has ${bytes.length - 1}`,
  )
  expect(await shown(id)).toMatchObject({ state: 'waiting', receivedBytes: 0 })
  expect(await put(node, uploadUrl, bytes)).toMatchObject({ status: 200, body: { state: 'ready' } })
})

test('an empty file is refused, with or without a length', async () => {
  const { id, uploadUrl } = await aWaitingFile(node)

  const empty = await put(node, uploadUrl, Buffer.alloc(0))
  const noPieces = await putPieces(node, uploadUrl, [])

  for (const refused of [empty, noPieces])
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_input' } })
  expect(await shown(id)).toMatchObject({ state: 'waiting', receivedBytes: 0 })
})

test('a file that is too large is refused by its announced size, its length or its content', async () => {
  const most = 3 * 1024 * 1024
  const { id, uploadUrl } = await aWaitingFile(node)

  const announced = await node.request('POST', '/v1/files', { name: 'a', size: most + 1 })
  const sent = await put(node, uploadUrl, someBytes(most + 1))
  const pieces = await putPieces(node, uploadUrl, [someBytes(most), Buffer.from('x')])
  const part = someBytes(CHUNK_BYTES)
  const far = await put(node, uploadUrl, part, rangeOf(most, part, '*'))

  expect(announced).toMatchObject({ status: 422, body: { errors: [{ pointer: '/size' }] } })
  for (const refused of [sent, pieces, far])
    expect(refused).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large', detail: expect.stringContaining('--max-file-bytes') },
    })
  expect(await shown(id)).toMatchObject({ receivedBytes: 0 })
  expect((await put(node, uploadUrl, someBytes(most))).status).toBe(200)
})

test('a file that is ready never changes', async () => {
  const bytes = someBytes(100)
  const { id, uploadUrl } = await aWaitingFile(node)
  await put(node, uploadUrl, bytes)

  const again = await put(node, uploadUrl, someBytes(100))
  const part = await put(node, uploadUrl, bytes, rangeOf(100, bytes, 200))

  for (const refused of [again, part])
    expect(refused).toMatchObject({ status: 409, body: { code: 'file_ready' } })
  expect((await download(node, `/v1/files/${id}/content`)).bytes.equals(bytes)).toBe(true)
})

test.each([
  ['bytes', 'bytes 0-9'],
  ['order', 'bytes 9-0/10'],
  ['beyond the total', 'bytes 0-10/10'],
  ['another unit', 'lines 0-9/10'],
  ['too large', 'bytes 0-9999999999999999999/*'],
  ['another length', 'bytes 0-8/10'],
  ['a small part', 'bytes 0-9/11'],
])('a Content-Range with a wrong %s is refused', async (_, range) => {
  const { uploadUrl } = await aWaitingFile(node)

  const refused = await put(node, uploadUrl, Buffer.alloc(10, 'x'), { 'content-range': range })

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: 'content-range' }] } })
})

test.each([
  ['slash', 'a/b'],
  ['backslash', 'a\\b'],
  ['dots', '..'],
  ['line break', 'a\nb'],
  ['bell', 'a\u0007b'],
  ['spaces', ' a'],
  ['nothing', ''],
  ['1 000 characters', 'x'.repeat(1_000)],
])('a name with %s is refused', async (_, name) => {
  const refused = await node.request('POST', '/v1/files', { name })

  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/name' }] } })
})

test('names can be in any script and are returned unchanged', async () => {
  const name = 'Übersicht 報告 ✓.tar.gz'
  const id = await aFile(node, Buffer.from('x'), name)

  const { headers } = await download(node, `/v1/files/${id}/content`)

  expect(headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
})

test('a part of a file is downloaded by its range', async () => {
  const bytes = someBytes(2 * CHUNK_BYTES + 50)
  const path = `/v1/files/${await aFile(node, bytes)}/content`

  const middle = await download(node, path, { range: `bytes=${CHUNK_BYTES - 5}-${CHUNK_BYTES + 4}` })
  const end = await download(node, path, { range: `bytes=${2 * CHUNK_BYTES}-` })
  const nothing = await download(node, path, { range: `bytes=${bytes.length}-` })

  expect(middle.status).toBe(206)
  expect(middle.headers.get('content-range')).toBe(
    `bytes ${CHUNK_BYTES - 5}-${CHUNK_BYTES + 4}/${bytes.length}`,
  )
  expect(middle.bytes.equals(bytes.subarray(CHUNK_BYTES - 5, CHUNK_BYTES + 5))).toBe(true)
  expect(end.bytes.equals(bytes.subarray(2 * CHUNK_BYTES))).toBe(true)
  expect([nothing.status, nothing.bytes.length]).toEqual([200, bytes.length])
})

test('a file that is not uploaded cannot be downloaded', async () => {
  const { id } = await aWaitingFile(node)

  const { status, bytes } = await download(node, `/v1/files/${id}/content`)

  expect([status, JSON.parse(bytes.toString()).code]).toEqual([409, 'file_waiting'])
})
