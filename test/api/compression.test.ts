/** Long answers are sent as gzip to whoever takes it. */
import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'

const node = await startTestNode(await createTestDatabase(), { roles: 'api' })
const GZIP = { 'accept-encoding': 'gzip' }

/** Asks as a client that does not unpack anything by itself. */
async function ask(path: string, headers: Record<string, string>, method = 'GET', body?: string) {
  const answer = await request(node.url + path, {
    method: method as 'GET',
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body }),
  })
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes: Buffer.from(await answer.body.arrayBuffer()),
  }
}

test('a long answer is compressed for clients that accept gzip, a short answer never', async () => {
  const tasks = Array.from({ length: 100 }, (_, n) => ({
    name: `task ${n} – größer`,
    action: { type: 'sleep', duration: '1s' },
  }))
  await node.request('POST', '/v1/tasks/bulk', { tasks })

  const plain = await ask('/v1/tasks?limit=100', { 'accept-encoding': 'identity' })
  const packed = await ask('/v1/tasks?limit=100', GZIP)
  const head = await ask('/v1/tasks?limit=100', GZIP, 'HEAD')
  const short = await ask('/v1/tasks?limit=1', GZIP)

  expect(packed.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-length': String(packed.bytes.length),
    vary: 'accept-encoding',
  })
  expect(plain.headers).toMatchObject({ vary: 'accept-encoding' })
  expect(plain.headers).not.toHaveProperty('content-encoding')
  expect(gunzipSync(packed.bytes).toString()).toBe(plain.bytes.toString())
  expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 5)
  expect(head.headers).not.toHaveProperty('content-encoding')
  expect(short.headers).not.toHaveProperty('content-encoding')
})

test('an answer of several megabytes to a bulk request arrives whole, plain or as gzip', async () => {
  const tasks = Array.from({ length: 10 }, (_, n) => ({
    name: `long ${n} – größer`,
    action: { type: 'webhook', url: 'http://receiver.example', body: '語'.repeat(80_000) },
    schedule: { type: 'manual' },
  }))
  const body = JSON.stringify({ tasks })

  const plain = await ask('/v1/tasks/bulk', { 'accept-encoding': 'identity' }, 'POST', body)
  const packed = await ask('/v1/tasks/bulk', GZIP, 'POST', body)
  const kept = await ask('/v1/tasks/bulk', { ...GZIP, 'idempotency-key': 'long' }, 'POST', body)

  expect([plain.status, packed.status, kept.status]).toEqual([201, 201, 201])
  expect(packed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
  expect(plain.headers).not.toHaveProperty('content-encoding')
  expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 5)
  for (const bytes of [plain.bytes, gunzipSync(packed.bytes), gunzipSync(kept.bytes)]) {
    const { items } = JSON.parse(bytes.toString())
    expect(items.map(({ name }: { name: string }) => name)).toEqual(tasks.map(({ name }) => name))
    expect(items[9]).toEqual((await node.request('GET', `/v1/tasks/${items[9].id}`)).body)
  }
})

test('a stream of changes is not compressed, so that each comes at once', async () => {
  const stopped = new AbortController()
  const stream = await fetch(`${node.url}/v1/stream`, { headers: GZIP, signal: stopped.signal })
  const reader = stream.body?.getReader()
  const first = new TextDecoder().decode((await reader?.read())?.value)
  stopped.abort()

  expect(stream.headers.get('content-encoding')).toBeNull()
  expect(first).toContain('event: hello')
})
