/** What users see of queues that were removed: why a run waits, and a queue that comes into being again. */
import { expect, test } from 'vitest'
import { LaneRepair } from '../../src/maintenance/lane-repair.ts'
import { UnusedQueues } from '../../src/maintenance/unused-queues.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { send } = await createTestApp({ db })
const repair = new LaneRepair({
  db,
  transport: new PostgresTransport(db),
  wakeUps: new LocalWakeUps(),
  log: silentLogger(),
})
const unused = new UnusedQueues({ db, log: silentLogger(), days: 30 })

/** A one-off whose run waits for a worker; answers its id. */
async function aWaitingTask(queue: string): Promise<string> {
  const action = { type: 'sleep', duration: '0s' }
  const { body } = await send('POST', '/v1/tasks', { queue, action })
  await db.run(sql`
    with pending as (update agenda set state = 'pending' where task_id = ${body.id} returning lane, priority, wake_at, run_id)
    insert into ready (lane, priority, wake_at, run_id) select lane, priority, wake_at, run_id from pending`)
  return body.id
}

/** Removes whatever queues are not in use, as if they had been unused for long and a walk had found so. */
async function removeUnused(): Promise<void> {
  await db.run(sql`update queue set used_at = now() - interval '31 days'`)
  await db.run(sql`update audit_walk set complete_since = now() where name = 'queues'`)
  await unused.runOnce()
}

test('why reports that the queue of a waiting run is missing', async () => {
  const id = await aWaitingTask('reports')
  await db.run(sql`delete from lane where queue = 'reports'`)
  await db.run(sql`delete from gate where queue = 'reports'`)
  await db.run(sql`delete from queue where name = 'reports'`)

  const { body: before } = await send('GET', `/v1/tasks/${id}/why`)
  await repair.runOnce()
  const { body: after } = await send('GET', `/v1/tasks/${id}/why`)

  expect(before).toMatchObject({ code: 'queue_missing', facts: { queue: 'reports', runState: 'pending' } })
  expect([after, ...after.also].map(({ code }) => code)).not.toContain('queue_missing')
})

test.each<[string, string, string, unknown]>([
  ['pausing', 'POST', '/pause', undefined],
  ['resuming', 'POST', '/resume', undefined],
  ['limiting', 'PATCH', '', { concurrencyLimit: 3 }],
])('%s a removed queue creates it again', async (name, method, path, body) => {
  await send('PATCH', `/v1/queues/${name}`, { concurrencyLimit: null })
  await removeUnused()
  expect((await send('GET', `/v1/queues/${name}`)).status).toBe(404)

  expect((await send(method, `/v1/queues/${name}${path}`, body)).status).toBe(200)
  expect((await send('GET', `/v1/queues/${name}`)).status).toBe(200)
})

test('the queue of an ended one-off can be removed, and a trigger of the task creates it again', async () => {
  const action = { type: 'sleep', duration: '0s' }
  const { body: task } = await send('POST', '/v1/tasks', { queue: 'ended', action })
  await db.run(sql`delete from agenda where task_id = ${task.id}`)
  await removeUnused()
  expect((await send('GET', '/v1/queues/ended')).status).toBe(404)
  const other = await createTestApp({ db })

  expect((await other.send('POST', `/v1/tasks/${task.id}/trigger`)).status).toBe(201)

  expect((await send('GET', '/v1/queues/ended')).status).toBe(200)
  const lanes = await db.run(
    sql`select l.queue from agenda a join lane l on l.id = a.lane where a.task_id = ${task.id}`,
  )
  expect(lanes).toEqual([{ queue: 'ended' }])
})
