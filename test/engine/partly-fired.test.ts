/** A batch of recurring runs is fired by two statements where something is in the way of some: what the first started is begun, whatever becomes of the second. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { tasksInAgenda } from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { anEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { failingDatabase } from '../support/failing-database.ts'

const HOURLY = { schedule: { type: 'every', interval: '1h' }, overlap: 'skip' } as const
/** Only the statement that fires rows one by one looks for what blocks them like this. */
const FIRES_ONE_BY_ONE = '), blocked as materialized ('

test('runs that were fired start, even if the rest of their batch could not be fired', async () => {
  const { db } = await createTestDatabase()
  const tasks = await tasksInAgenda(db, { count: 5, definition: HOURLY })
  const [blocked, ...others] = tasks
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, lane, priority, kind, state)
    select gen_random_uuid(), task_id, project_id, shard, now() + interval '1 hour', scheduled_for, version, ordinal, lane, priority,
           'manual', 'retrying'
    from agenda where run_id = ${blocked?.runId ?? ''}`)
  let failures = 0
  const broken = failingDatabase(db, (text) => {
    if (failures > 0 || !text.includes(FIRES_ONE_BY_ONE)) return undefined
    failures++
    return Object.assign(new Error('deadlock detected'), { code: '40P01' })
  })
  const scheduler = await anEngine(broken, {
    clock: { now: () => Date.now() },
    execute: async () => ({ kind: 'completed', output: null }),
  })

  scheduler.start()
  whenDone(() => scheduler.stop())
  const ids = others.map(({ taskId }) => taskId)
  const runs = await eventually(async () => {
    const rows = await db.run(
      sql<{
        attempt: number
      }>`select attempt from run where state = 'completed' and task_id = any(${ids}::uuid[])`,
    )
    return rows.length === ids.length && rows
  })

  expect(failures).toBe(1)
  expect(runs.map(({ attempt }) => attempt)).toEqual(ids.map(() => 1))
})
