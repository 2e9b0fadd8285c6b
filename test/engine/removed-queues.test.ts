/** Queues that were removed, beside real nodes that remember them: what is created there runs all the same. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { roles: ['api', 'scheduler', 'liveness'], claimEveryMs: 50 })

/** Creates a task that runs at once; answers its id. */
async function create(fields: Record<string, unknown>): Promise<string> {
  const { status, body } = await node.request('POST', '/v1/tasks', {
    action: { type: 'sleep', duration: '0s' },
    ...fields,
  })
  expect([status, body]).toEqual([201, expect.anything()])
  return body.id
}

const untilRun = (id: string) =>
  eventually(async () => {
    const { body } = await node.request('GET', `/v1/tasks/${id}/runs`)
    return body.items[0]?.state === 'completed'
  })

/** Removes a queue as housekeeping would, without asking whether it is in use. */
async function remove(queue: string): Promise<void> {
  await db.run(sql`delete from lane where queue = ${queue}`)
  await db.run(sql`delete from gate where queue = ${queue}`)
  await db.run(sql`delete from queue where name = ${queue}`)
}

test.each<[string, Record<string, unknown>]>([
  ['a queue', {}],
  ['a queue, at most once', { onWorkerLoss: 'fail' }],
  ['a key of a queue', { concurrencyKey: 'customer' }],
])(
  'a task for %s that was removed but that the node still remembers runs within seconds',
  async (_, fields) => {
    const queue = `gone-${Object.keys(fields).length}-${Object.keys(fields)[0] ?? 'plain'}`
    await create({ queue, ...fields, schedule: { type: 'once', at: '2099-01-01T00:00:00Z' } })
    await remove(queue)
    const id = await create({ queue, ...fields })
    // One that starts now has not heard of the queue before.
    const worker = await startTestNode(database, { roles: ['worker'], claimEveryMs: 50 })

    await untilRun(id)

    expect(await db.run(sql`select name from queue where name = ${queue}`)).toEqual([{ name: queue }])
    await worker.stop()
  },
)

test('a worker that waits on a removed queue gets runs that are created there later', async () => {
  const action = { type: 'handler', name: 'resize' }
  const worker = await aWorker(node.url, { handlers: ['resize'], queues: ['images'] })
  await create({ queue: 'images', action, schedule: { type: 'once', at: '2099-01-01T00:00:00Z' } })
  const claiming = worker.claim(1)
  await remove('images')
  const id = await create({ queue: 'images', action })

  expect(await claiming).toMatchObject([{ taskId: id, handler: 'resize' }])
})
