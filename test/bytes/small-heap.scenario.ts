/** What is long comes in turns, so that a node with little memory lives through it. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { BODY, copyOneOff, countCompleted, startConfined, startReceiver, walk } from './large-load.ts'

const COUNT = 80
const HEAP_MB = 192
/** Definitions of 1 MiB and one more, each with its action twice. */
const LONGEST_PAGE_BYTES = 2 * (1024 * 1024 + 700_000) + 100_000

test('many long one-off tasks that are due together run and are listed with a small heap', async () => {
  const { url, db } = await createTestDatabase()
  const action = { type: 'webhook', url: await startReceiver(), body: BODY }
  const node = await startConfined(url, HEAP_MB)
  const { body: task } = await node.request('POST', '/v1/tasks', { action })
  await eventually(async () => (await countCompleted(db)) === 1)

  await copyOneOff(db, task.id, { count: COUNT, dueAt: Date.now() - 1_000 })
  await eventually(async () => (await countCompleted(db)) === COUNT + 1, { withinMs: 120_000 })
  const lists = await Promise.all(Array.from({ length: 20 }, () => node.request('GET', '/tasks')))
  const { ids, longestPage } = await walk(node.url, '/v1/tasks?limit=200')

  for (const { status, body } of lists) {
    expect(status).toBe(200)
    expect(body).toHaveLength(COUNT + 1)
    expect(body[0]).toMatchObject({ status: 'FINISHED', command: `webhook ${action.url}` })
  }
  expect(new Set(ids).size).toBe(COUNT + 1)
  expect(ids).toHaveLength(COUNT + 1)
  expect(longestPage).toBeLessThan(LONGEST_PAGE_BYTES)
  expect(node.child.exitCode).toBeNull()
})
