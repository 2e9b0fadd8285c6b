/** Large requests take turns, so that many of them at once do not use up the memory of a node. */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startOneNode } from '../support/node.ts'

const MIB = 1024 * 1024
const task = { action: { type: 'sleep', duration: '1s' }, schedule: { type: 'manual' } }

/** Two megabytes together. */
const action = { type: 'webhook', url: 'http://127.0.0.1:9/', body: 'x'.repeat(100_000) }
const large = { tasks: Array.from({ length: 20 }, () => ({ ...task, action })) }

/** Begins a request that says how long it is, and sends nothing of it. */
async function announce(url: string, bytes: number) {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  whenDone(() => socket.destroy())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  const head = `POST /v1/tasks/bulk HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`
  await new Promise<void>((resolve) => socket.write(head, () => resolve()))
  return socket
}

test('a large request waits until memory for bodies is free, and small requests do not', async () => {
  const node = await startOneNode(await createTestDatabase())
  const first = [await announce(node.url, 31 * MIB), await announce(node.url, 32 * MIB)]
  for (let i = 0; i < 5; i++) await node.request('GET', '/healthz')
  let isAnswered = false

  const answer = node.request('POST', '/v1/tasks/bulk', large).finally(() => {
    isAnswered = true
  })
  for (let i = 0; i < 50; i++) expect((await node.request('POST', '/v1/tasks', task)).status).toBe(201)
  expect(isAnswered).toBe(false)
  for (const socket of first) socket.destroy()

  await eventually(async () => isAnswered)
  expect(await answer).toMatchObject({ status: 201, body: { items: { length: 20 } } })
})

test('large requests that fit together do not wait for one another', async () => {
  const node = await startOneNode(await createTestDatabase())
  await announce(node.url, 30 * MIB)

  expect((await node.request('POST', '/v1/tasks/bulk', large)).status).toBe(201)
})
