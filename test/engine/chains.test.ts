/** The end of a run of a `delay` task writes the next one; what it writes follows the task as it is by then. */

import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { systemCall } from '../../src/operations/context.ts'
import { WriteCheck } from '../../src/operations/server/write-check.ts'
import { editTask } from '../../src/operations/tasks/edit-task.ts'
import { fire, JUST_RUN } from '../../src/store/agenda/fire.ts'
import { endRuns } from '../../src/store/agenda/outcomes.ts'
import type { Database, Queryable } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { LaneRegistry } from '../../src/transport/lane-registry.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { aNode, dueRow, ownShards, type TaskInAgenda, tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { aVault, ofFiles } from '../support/vault.ts'

const { db } = await createTestDatabase()

test('the end of a delay run during an edit writes the next row with the new version', async () => {
  const [task] = (await tasksInAgenda(db, {
    definition: { schedule: { type: 'delay', interval: '1h' } },
    delayMs: 3_600_000,
  })) as [TaskInAgenda]
  const nodeId = await aNode(db, ['scheduler'])
  const shards = await ownShards(db, nodeId)
  const row = await dueRow(db, task.runId)
  await db.run(
    fire({
      nodeId,
      shards,
      workerId: nodeId,
      firings: [{ row, decision: { ...JUST_RUN, exclusive: true }, startNow: true }],
    }),
  )
  const end = () =>
    db.run(
      endRuns([
        {
          runId: task.runId,
          fence: 1,
          state: 'completed',
          outcome: 'completed',
          startedAt: Date.now(),
          endedAt: Date.now(),
          output: null,
          error: null,
          nextRunId: uuidv7(),
        },
      ]),
    )

  // The end arrives when the edit has done its work and not yet committed it.
  let ending: Promise<unknown> | undefined
  const meeting = {
    run: db.run.bind(db),
    transaction: <T>(work: (tx: Queryable) => Promise<T>) =>
      db.transaction(async (tx) => {
        const result = await work(tx)
        ending = end()
        await eventually(async () => (await waitingForLocks()) > 0)
        return result
      }),
  } as unknown as Database
  const context = {
    db: meeting,
    writeCheck: new WriteCheck(meeting),
    clock: { now: () => Date.now() },
    wakeUps: new LocalWakeUps(),
    lanes: new LaneRegistry(),
    vault: aVault(db),
    ...ofFiles(aVault(db), Date),
    heartbeatMs: 5_000,
    shardTakeoverMs: 3_000,
    misfireGraceMs: 10_000,
    deadNodeMinutes: 10_080,
    refusedRequests: { note: () => {} },
    limits: { minPeriodMs: null, maxAheadMs: null },
    privateReach: 'all' as const,
    ...systemCall('test', DEFAULT_PROJECT_ID),
  }
  await editTask(context, {
    id: task.taskId,
    edit: { action: { type: 'sleep', duration: '5s' } },
    expected: null,
    by: null,
  })
  await ending

  expect(await db.run(sql`select version, state from agenda where task_id = ${task.taskId}`)).toEqual([
    { version: 2, state: 'scheduled' },
  ])
})

async function waitingForLocks(): Promise<number> {
  const [row] = await db.run(sql<{ count: number }>`
    select count(*)::integer as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
  return row?.count ?? 0
}
