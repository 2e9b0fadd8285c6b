/** One row that PostgreSQL refuses costs the others of its batch nothing, whichever statement meets it, and is reported. */

import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { TASK_DEFAULTS } from '../../src/core/task/field-list.ts'
import type { TaskDefinition } from '../../src/core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { Reaper } from '../../src/liveness/reaper.ts'
import { Expiry } from '../../src/maintenance/expiry.ts'
import { Redriver } from '../../src/maintenance/redriver.ts'
import { Tally } from '../../src/maintenance/tally.ts'
import { WriteCheck } from '../../src/operations/server/write-check.ts'
import { Duties } from '../../src/scheduler/duties.ts'
import { Superseding } from '../../src/scheduler/superseding.ts'
import { setQueueTimeouts } from '../../src/store/agenda/expiry.ts'
import { firePlain } from '../../src/store/agenda/fire-plain.ts'
import { type Database, isRefused } from '../../src/store/database/database.ts'
import { SetAside } from '../../src/store/database/set-aside.ts'
import { sql } from '../../src/store/database/sql.ts'
import { insertRedrive } from '../../src/store/history/redrives.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { LaneRegistry } from '../../src/transport/lane-registry.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import {
  aNode,
  dueRow,
  endedRow,
  liveRow,
  ownShards,
  type TaskInAgenda,
  tasksInAgenda,
} from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { anEngine } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { aVault, ofFiles } from '../support/vault.ts'

const OTHERS = 100
const clock = { now: () => Date.now() }
const parts = { clock, wakeUps: new LocalWakeUps(), log: silentLogger() }

const reports = (db: Database) =>
  db.run(sql<{ operation: string; subject: string; runId: string | null; taskId: string | null }>`
    select operation, subject, run_id as "runId", task_id as "taskId" from refused_row where settled_at is null`)

const completedOf = async (db: Database, tasks: readonly TaskInAgenda[]) => {
  const ids = tasks.map(({ taskId }) => taskId)
  const rows = await db.run(sql`
    select distinct task_id from run where state = 'completed' and task_id = any(${ids}::uuid[])`)
  return rows.length
}

/** From here on the fence of the run cannot be raised. */
const spoil = (db: Database, { runId }: Pick<TaskInAgenda, 'runId'>) =>
  db.run(sql`update agenda set fence = 2147483647 where run_id = ${runId}`)

const execute = async () => ({ kind: 'completed', output: null }) as const
const every = (interval: string) => ({ type: 'every', interval }) as const

const variants: readonly [string, Partial<TaskDefinition>][] = [
  ['runs once', {}],
  ['is followed by the next occurrence', { schedule: every('1h'), overlap: 'allow' }],
  ['is followed by the next occurrence and runs alone', { schedule: every('1h'), overlap: 'skip' }],
  ['has jitter', { schedule: every('1h'), jitter: '1ms' }],
  ['may wait only so long', { schedule: every('1h'), queueTimeout: '1h' }],
  ['takes its turn', { schedule: every('1h'), overlap: 'queue_one' }],
]

test.each(variants)('100 tasks continue when a task that %s cannot be fired', async (_, definition) => {
  const { db } = await createTestDatabase()
  const [bad] = (await tasksInAgenda(db, { definition })) as [TaskInAgenda]
  await spoil(db, bad)
  const others = await tasksInAgenda(db, { count: OTHERS, definition })
  const scheduler = await anEngine(db, { clock, execute })
  scheduler.start()
  whenDone(() => scheduler.stop())

  await eventually(async () => (await completedOf(db, others)) === OTHERS)

  expect(await liveRow(db, bad.runId)).toMatchObject({ state: 'scheduled' })
  await eventually(async () => (await reports(db)).length > 0)
  expect(await reports(db)).toEqual([
    { operation: 'fire', subject: bad.runId, runId: bad.runId, taskId: bad.taskId },
  ])
})

test('missed occurrences of 100 tasks run as catch-up when those of another task cannot', async () => {
  const { db } = await createTestDatabase()
  const misfire = { ...TASK_DEFAULTS.misfire, policy: 'run_all' } as const
  const definition: Partial<TaskDefinition> = { schedule: every('20s'), overlap: 'allow', misfire }
  const tasks = await tasksInAgenda(db, { count: OTHERS + 1, definition, dueAt: Date.now() - 60_000 })
  const [bad, ...others] = tasks as [TaskInAgenda, ...TaskInAgenda[]]
  await db.run(sql`
    insert into unwatched (shard, from_at, until_at) select id, now() - interval '1 hour', now() - interval '1 second' from shard`)
  await db.run({
    text: `alter table agenda add constraint refused_by_test check (task_id <> '${bad.taskId}' or kind <> 'catchup')`,
    values: [],
  })
  const scheduler = await anEngine(db, { clock, execute })
  scheduler.start()
  whenDone(() => scheduler.stop())

  await eventually(async () => (await completedOf(db, others)) === OTHERS)

  expect(await liveRow(db, bad.runId)).toMatchObject({ state: 'scheduled' })
  expect(await reports(db)).toMatchObject([{ operation: 'fire', subject: bad.runId }])
})

test('100 catch-up runs start when another one cannot be fired', async () => {
  const { db } = await createTestDatabase()
  const tasks = await tasksInAgenda(db, { count: OTHERS + 1 })
  await db.run(sql`update agenda set kind = 'catchup'`)
  const [bad, ...others] = tasks as [TaskInAgenda, ...TaskInAgenda[]]
  await spoil(db, bad)
  const scheduler = await anEngine(db, { clock, execute })
  scheduler.start()
  whenDone(() => scheduler.stop())

  await eventually(async () => (await completedOf(db, others)) === OTHERS)

  expect(await reports(db)).toMatchObject([{ operation: 'fire', subject: bad.runId }])
})

test('a refused row is fired once it can be, and is then no longer reported', async () => {
  const { db } = await createTestDatabase()
  const [bad] = (await tasksInAgenda(db)) as [TaskInAgenda]
  await spoil(db, bad)
  const scheduler = await anEngine(db, { clock, execute })
  scheduler.start()
  whenDone(() => scheduler.stop())
  await eventually(async () => (await reports(db)).length === 1)

  await db.run(sql`update agenda set fence = 0`)

  await eventually(async () => (await endedRow(db, bad.runId))?.state === 'completed')
  await eventually(async () => (await reports(db)).length === 0)
})

test('100 pending runs are claimed when the one in front of them cannot be', async () => {
  const { db } = await createTestDatabase()
  const [bad, ...others] = (await tasksInAgenda(db, { count: OTHERS + 1 })) as [
    TaskInAgenda,
    ...TaskInAgenda[],
  ]
  await db.run(
    sql`update agenda set state = 'pending', attempt = case when run_id = ${bad.runId} then 32767 else 0 end`,
  )
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id)
    select lane, case when run_id = ${bad.runId} then -1 else 0 end, wake_at, run_id from agenda`)
  await db.run(sql`update agenda set priority = -1 where run_id = ${bad.runId}`)

  await anEngine(db, { clock, execute })

  await eventually(async () => (await completedOf(db, others)) === OTHERS)
  expect(await liveRow(db, bad.runId)).toMatchObject({ state: 'pending' })
  expect(await reports(db)).toMatchObject([{ operation: 'claim', subject: bad.runId, taskId: bad.taskId }])
})

/** Runs in the name of a node. */
async function inProgress(db: Database, tasks: readonly TaskInAgenda[]): Promise<string> {
  const nodeId = await aNode(db)
  const shards = await ownShards(db, nodeId)
  const rows = await Promise.all(tasks.map(({ runId }) => dueRow(db, runId)))
  await db.run(firePlain({ nodeId, shards, workerId: nodeId, rows }))
  return nodeId
}

test('runs of a dead node are reclaimed when one of them cannot be, and the node is kept', async () => {
  const { db } = await createTestDatabase()
  const tasks = await tasksInAgenda(db, { count: 10 })
  const nodeId = await inProgress(db, tasks)
  const [bad, ...others] = tasks as [TaskInAgenda, ...TaskInAgenda[]]
  await spoil(db, bad)
  await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${nodeId}`)
  const reaper = new Reaper({ nodeId: uuidv7(), db, ...parts, everyMs: 1_000, deadAfterMs: 60_000, batch: 4 })

  for (let pass = 0; pass < 4; pass++) await reaper.runOnce()

  for (const { runId } of others)
    expect(await liveRow(db, runId)).toMatchObject({ state: 'pending', losses: 1 })
  expect(await liveRow(db, bad.runId)).toMatchObject({ state: 'running' })
  expect(await db.run(sql`select from node where id = ${nodeId} and buried_at is null`)).toHaveLength(1)
  expect(await reports(db)).toMatchObject([{ operation: 'reclaim', subject: bad.runId }])
})

test('runs past their queueTimeout end when one of them cannot be ended', async () => {
  const { db } = await createTestDatabase()
  const tasks = await tasksInAgenda(db, { count: 10 })
  const [bad, ...others] = tasks as [TaskInAgenda, ...TaskInAgenda[]]
  await db.run(sql`update agenda set state = 'pending'`)
  await db.run(setQueueTimeouts(tasks.map(({ runId }) => ({ runId, attempt: 0, wakeAt: 0, waitMs: 0 }))))
  await db.run({
    text: `alter table run add constraint refused_by_test check (run_id <> '${bad.runId}') not valid`,
    values: [],
  })

  const expiry = new Expiry({ db, ...parts })
  await eventually(async () => {
    await expiry.runOnce()
    return (await db.run(sql`select from run`)).length === others.length
  })

  for (const { runId } of others) expect(await endedRow(db, runId)).toMatchObject({ reason: 'queue_timeout' })
  expect(await reports(db)).toMatchObject([{ operation: 'expire', subject: bad.runId, taskId: bad.taskId }])
})

test('runs are asked to stop for their held successors when one of them cannot be', async () => {
  const { db } = await createTestDatabase()
  const tasks = await tasksInAgenda(db, { count: 10 })
  await inProgress(db, tasks)
  const [bad, ...others] = tasks as [TaskInAgenda, ...TaskInAgenda[]]
  const held = await Promise.all(
    tasks.map(async ({ taskId, runId }) => {
      const row = { ...(await dueRow(db, runId)), runId: uuidv7() }
      await db.run(sql`
        insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, state)
        select ${row.runId}, task_id, project_id, shard, now(), now(), version, ordinal + 1, 'held' from agenda where task_id = ${taskId}`)
      return row
    }),
  )
  await db.run({
    text: `alter table agenda add constraint refused_by_test check (run_id <> '${bad.runId}' or cancel_at is null) not valid`,
    values: [],
  })
  const superseding = new Superseding({ db, ...parts })

  // A row that the refused statement has just let go may still be locked, and is left to the next look at its
  // successor: that may be a good one or the bad one itself.
  const told = await eventually(async () => {
    for (const row of held) superseding.add(row)
    await superseding.runOnce()
    const rows = await db.run(
      sql<{ runId: string }>`select run_id as "runId" from agenda where cancel_at is not null`,
    )
    const isReported = (await reports(db)).length > 0
    return rows.length === others.length && isReported ? rows : undefined
  })

  expect(told.map(({ runId }) => runId).sort()).toEqual(others.map(({ runId }) => runId).sort())
  expect(await reports(db)).toMatchObject([{ operation: 'supersede', taskId: bad.taskId }])
})

test('duties of other tasks are carried out when the duty of one task fails', async () => {
  const { db } = await createTestDatabase()
  const [bad, good] = await Promise.all(
    (await tasksInAgenda(db, { count: 2 })).map(({ runId }) => dueRow(db, runId)),
  )
  const done: string[] = []
  const duties = new Duties({
    db,
    log: silentLogger(),
    carryOut: async ({ runId }) => {
      if (runId === bad?.runId) await db.run(sql`select 2147483647 + 1`)
      done.push(runId)
    },
  })

  for (const row of [bad, good]) if (row) duties.add({ ...row, kind: 'resume' })
  await duties.runOnce()

  expect(done).toEqual([good?.runId])
  expect(await reports(db)).toMatchObject([{ operation: 'duty', subject: bad?.runId }])
})

test('later minutes are tallied when one minute cannot be', async () => {
  const { db } = await createTestDatabase()
  const from = Math.floor(Date.now() / 60_000) * 60_000 - 5 * 60_000
  await db.run(sql`update tally_progress set counted_until = to_timestamp(${from}::float8 / 1000)`)
  const [{ taskId } = { taskId: '' }] = await tasksInAgenda(db)
  for (const minute of [0, 1, 2])
    await db.run(sql`
      insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state)
      values (${uuidv7()}, ${taskId}, ${DEFAULT_PROJECT_ID}, now(), to_timestamp(${from + minute * 60_000 + 1}::float8 / 1000), 1, 1, 'occurrence', 'completed')`)
  await db.run({
    text: `alter table tally add constraint refused_by_test check (minute <> to_timestamp(${from / 1_000 + 60}))`,
    values: [],
  })
  const tally = new Tally({ db, log: silentLogger() })

  while ((await tally.runOnce()) === 0);

  const counted = await db.run(
    sql<{ minute: number }>`select minute from tally where completed = 1 order by minute`,
  )
  expect(counted.map(({ minute }) => (minute - from) / 60_000)).toEqual([0, 2])
  expect(await reports(db)).toMatchObject([
    { operation: 'tally', subject: new Date(from + 60_000).toISOString() },
  ])
})

test('other redrives are processed when one cannot be', async () => {
  const { db } = await createTestDatabase()
  const ids = [uuidv7(), uuidv7(), uuidv7()]
  for (const id of ids)
    await db.run(insertRedrive({ id, projectId: DEFAULT_PROJECT_ID, filter: {} as never, rate: 10 }))
  await db.run({
    text: `alter table redrive add constraint refused_by_test check (id <> '${ids[0]}') not valid`,
    values: [],
  })
  const redriver = new Redriver({
    facilities: {
      db,
      ...parts,
      lanes: new LaneRegistry(),
      vault: aVault(db),
      ...ofFiles(aVault(db), clock),
      heartbeatMs: 5_000,
      shardTakeoverMs: 3_000,
      misfireGraceMs: 10_000,
      deadNodeMinutes: 10_080,
      refusedRequests: { note: () => {} },
      writeCheck: new WriteCheck(db),
      limits: { minPeriodMs: null, maxAheadMs: null },
      privateReach: 'all' as const,
    },
    log: silentLogger(),
  })
  whenDone(() => redriver.stop())

  await eventually(async () => {
    await redriver.runOnce()
    const rows = await db.run(sql`select from redrive where state = 'completed'`)
    return rows.length === 2
  })
  expect(await reports(db)).toMatchObject([{ operation: 'redrive', subject: ids[0] }])
})

test('a row that is refused repeatedly rests longer each time, and an error not about a row is thrown', async () => {
  const { db } = await createTestDatabase()
  const subjectOf = (id: string) => ({ id })
  const aside = new SetAside<string>({ operation: 'fire', db, log: silentLogger(), subjectOf })
  const written: string[] = []
  const write = async (rows: readonly string[]) => {
    await db.run(sql`select 1 / (case when ${rows.includes('bad')} then 0 else 1 end)`)
    written.push(...rows)
  }

  expect(await aside.each(['a', 'bad', 'b', 'c'], write)).toEqual(['bad'])
  const [first, second] = [
    aside.restMs('bad'),
    await aside.refuse('bad', new RangeError()).then(() => aside.restMs('bad')),
  ]

  expect(written).toEqual(['a', 'b', 'c'])
  expect(aside.isResting('a')).toBe(false)
  expect(first).toBeLessThanOrEqual(1_000)
  expect(second).toBeGreaterThan(first)
  await expect(aside.each(['a', 'b'], () => Promise.reject(new Error('gone')))).rejects.toThrow('gone')
  expect(isRefused(new Error('Connection terminated'))).toBe(false)
})
