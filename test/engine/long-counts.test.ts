/** A task's runs are counted beyond what an integer holds, also where release 0.1.0 works beside this one. */
import { expect, test } from 'vitest'
import { Expiry } from '../../src/maintenance/expiry.ts'
import { endRuns } from '../../src/store/agenda/outcomes.ts'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { insertNext, latestOccurrence, sweepScheduled } from '../../src/store/tasks/next-row.ts'
import { markPaused } from '../../src/store/tasks/pauses.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { completed, dueRow, endedRow, type TaskInAgenda, tasksInAgenda } from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { anEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'

const ROUND = 2_000_000_000
const LARGEST_INTEGER = 2_147_483_647
const clock = { now: () => Date.now() }
const execute = async () => ({ kind: 'completed', output: null }) as const

/** What the next row of a task counts as, and its part that release 0.1.0 reads. */
const nextCount = async (db: Database, { taskId }: TaskInAgenda) =>
  (
    await db.run(sql<{ count: number; ordinal: number }>`
      select count_of(ordinal_base, ordinal) as count, ordinal from agenda where task_id = ${taskId} and state = 'scheduled'`)
  )[0]

test.each([
  ['is the last of its round', {}, ROUND, 1],
  [
    'was left behind by release 0.1.0 at the end of integers',
    {},
    LARGEST_INTEGER,
    LARGEST_INTEGER + 1 - ROUND,
  ],
  ['waits for its turn', { overlap: 'queue_one' } as const, ROUND, 1],
  ['has jitter', { jitter: '1ms' } as const, ROUND, 1],
])('a row that %s is fired, and the next row continues the count', async (_, more, ordinal, part) => {
  const { db } = await createTestDatabase()
  const definition = { schedule: { type: 'every', interval: '1h' }, ...more } as const
  const [task] = (await tasksInAgenda(db, { definition })) as [TaskInAgenda]
  await db.run(sql`update agenda set ordinal = ${ordinal}`)
  const scheduler = await anEngine(db, { clock, execute })
  scheduler.start()
  whenDone(() => scheduler.stop())

  await eventually(async () => (await endedRow(db, task.runId))?.state === 'completed')

  expect(await nextCount(db, task)).toEqual({ count: ordinal + 1, ordinal: part })
})

test('a count beyond integers continues when a run ends or expires, and is kept in history', async () => {
  const { db } = await createTestDatabase()
  const [ends, expires] = (await tasksInAgenda(db, {
    count: 2,
    definition: { schedule: { type: 'delay', interval: '1h' } },
    delayMs: 3_600_000,
  })) as [TaskInAgenda, TaskInAgenda]
  await db.run(sql`update agenda set ordinal = ${ROUND}, ordinal_base = ${2 * ROUND}, state = 'pending'`)
  await db.run(sql`insert into expiry (run_id, attempt, expires_at) values (${expires.runId}, 0, now())`)
  await db.run(sql`
    update agenda set state = 'running', worker_id = gen_random_uuid(), fence = 1, attempt = 1 where run_id = ${ends.runId}`)

  await db.run(endRuns([completed(ends.runId, 1)]))
  await new Expiry({ db, wakeUps: new LocalWakeUps(), log: silentLogger() }).runOnce()

  for (const task of [ends, expires]) {
    expect(await nextCount(db, task)).toEqual({ count: 3 * ROUND + 1, ordinal: 1 })
    const [run] = await db.run(
      sql<{
        count: number
      }>`select count_of(ordinal_base, ordinal) as count from run where run_id = ${task.runId}`,
    )
    expect(run?.count).toBe(3 * ROUND)
  }
})

test('a pause and its end keep a count beyond integers', async () => {
  const { db } = await createTestDatabase()
  const [task] = (await tasksInAgenda(db)) as [TaskInAgenda]
  const row = await dueRow(db, task.runId)
  await db.run(sql`update agenda set ordinal_base = ${2 * ROUND}, ordinal = 5`)

  const [swept] = await db.run(sweepScheduled(task.taskId))
  await db.run(markPaused(task.taskId, swept?.ordinal ?? 0, { reason: null, until: null }))
  const { projectId } = (
    await db.run(
      sql<{ projectId: string }>`select project_id as "projectId" from task where id = ${task.taskId}`,
    )
  )[0] as { projectId: string }
  await db.run(
    insertNext({
      ...{ ...row, projectId, at: Date.now(), delayMs: null, jitterMs: null, kind: 'occurrence' },
      ordinal: swept?.ordinal ?? 0,
    }),
  )
  const before = await nextCount(db, task)
  await db.run(sql`update agenda set state = 'pending'`)

  expect(before).toEqual({ count: 2 * ROUND + 5, ordinal: 5 })
  expect((await db.run(latestOccurrence(task.taskId)))[0]?.nextOrdinal).toBe(2 * ROUND + 6)
})

test('a row that release 0.1.0 wrote after a later round is fired and counted by this release', async () => {
  const { db } = await createTestDatabase()
  const definition = { schedule: { type: 'every', interval: '1h' } } as const
  const [task] = (await tasksInAgenda(db, { definition })) as [TaskInAgenda]
  await db.run(sql`update agenda set ordinal_base = ${ROUND}, ordinal = 7`)

  // Release 0.1.0 raises the ordinal that it knows, and does not know of rounds.
  await db.run(sql`
    with gone as (delete from agenda returning *)
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, lane, priority)
    select run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal + 1, lane, priority from gone`)
  const scheduler = await anEngine(db, { clock, execute })
  scheduler.start()
  whenDone(() => scheduler.stop())

  await eventually(async () => (await endedRow(db, task.runId))?.state === 'completed')
  expect(await nextCount(db, task)).toEqual({ count: 9, ordinal: 9 })
})
