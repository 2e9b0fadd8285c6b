/** A scheduler without a worker: very many runs of one task wait in a lane of their own, and take turns with the others. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createAll } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'

const MANY = 2_000

test('runs of other tasks take turns with a burst of one task instead of waiting for its end', async () => {
  const database = await createTestDatabase()
  const { db } = database
  const node = await startTestNode(database, { roles: 'api,scheduler,liveness' })
  const later = new Date(Date.now() + 3_600_000).toISOString()
  const action = { type: 'sleep', duration: '0s' }
  const [crowd] = await createAll(node, [
    { action, schedule: { type: 'every', interval: '1d', anchor: later }, startAt: later, overlap: 'allow' },
  ])
  // What as many triggers would leave.
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, wake_at, scheduled_for, serial, lane, version, ordinal, shard, priority, kind)
    select gen_random_uuid(), task_id, project_id, now(), now(), nextval('agenda_serial'), lane, version, 0, shard, priority, 'manual'
    from agenda, generate_series(1, ${MANY}::integer) where task_id = ${crowd ?? ''}`)
  const isWaiting = (count: number) =>
    eventually(async () => (await db.run(sql`select from ready`)).length === count)
  await isWaiting(MANY)
  const others = await createAll(node, Array(20).fill({ action }))
  await isWaiting(MANY + others.length)

  await startTestNode(database, { roles: 'worker', concurrency: 2 })
  await eventually(
    async () => (await db.run(sql`select from agenda where state <> 'scheduled'`)).length === 0,
  )

  const ended = await db.run(
    sql<{ taskId: string }>`select task_id as "taskId" from run order by started_at, ended_at`,
  )
  expect(ended).toHaveLength(MANY + others.length)
  expect(ended.findLastIndex(({ taskId }) => taskId !== crowd)).toBeLessThan(MANY / 2)
  expect(await db.run(sql`select line from lane where base = 0`)).toContainEqual({ line: null })
})
