/**
 * Writing the runs of backfills, without anybody who runs them: several writers at once, writers that die in the middle,
 * and a hundred thousand occurrences.
 */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { BEHIND_ON_TIME } from '../../src/core/policy/backfill.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { Backfiller } from '../../src/scheduler/backfiller.ts'
import { readCatchUp } from '../../src/store/agenda/catch-up.ts'
import { liveRuns, unfilled } from '../../src/store/backfills/backfill-runs.ts'
import {
  deleteOldBackfills,
  findBackfills,
  insertBackfill,
  lockBackfill,
  type NewBackfill,
} from '../../src/store/backfills/backfills.ts'
import type { Database, Queryable } from '../../src/store/database/database.ts'
import { list, type Statement, sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { Definitions } from '../../src/transport/definitions.ts'
import { LocalWakeUps } from '../../src/transport/wake-ups.ts'
import { tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { makePastDays } from '../support/history.ts'
import { planOf } from '../support/plan.ts'

const { db } = await createTestDatabase()
const SECOND = { type: 'every', interval: '1s', anchor: '2026-01-01T00:00:00Z' } as const
const FROM = Date.UTC(2026, 0, 1)
const FAR = Date.now() + 365 * 86_400_000

const writer = (database: Database = db) =>
  new Backfiller({
    db: database,
    definitions: new Definitions(db),
    wakeUps: new LocalWakeUps(),
    log: silentLogger(),
  })

async function aTask(): Promise<string> {
  const [task] = await tasksInAgenda(db, { dueAt: FAR, definition: { schedule: SECOND, overlap: 'allow' } })
  return task?.taskId as string
}

async function aBackfill(occurrences: number, more: Partial<NewBackfill> = {}) {
  const backfill: NewBackfill = {
    id: uuidv7(),
    taskId: await aTask(),
    projectId: DEFAULT_PROJECT_ID,
    version: 1,
    from: FROM,
    to: FROM + occurrences * 1_000,
    newestFirst: false,
    oneByOne: false,
    force: false,
    rate: null,
    maxRuns: null,
    occurrences,
    madeBy: null,
    reason: null,
    ...more,
  }
  await db.run(insertBackfill(backfill))
  return backfill
}

const read = async (id: string) =>
  (await db.run(findBackfills({ projectId: DEFAULT_PROJECT_ID, id, limit: 1 })))[0]

/** What is on the agenda completes, all of it. */
const completeAll = (taskId: string) =>
  db.run(sql`
    with ended as (delete from agenda where task_id = ${taskId} and kind = 'backfill' returning *)
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, kind, state, outcome)
    select run_id, task_id, project_id, scheduled_for, now(), now(), version, ordinal, kind, 'completed', 'completed' from ended`)

/** A task with this many rows on the agenda, none of which is due soon. */
async function occurrencesOfAnother(count: number): Promise<string> {
  const taskId = await aTask()
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, lane, priority)
    select gen_random_uuid(), task_id, project_id, shard, wake_at, scheduled_for + n * interval '1 second', version, ordinal, lane, priority
    from agenda, generate_series(1, ${count}::integer) n where task_id = ${taskId}`)
  return taskId
}

/** Lets nobody wait for the time at which a backfill is to be looked at. */
const lookNow = () => db.run(sql`update backfill set look_at = now() where state = 'running'`)

const instantsOf = (taskId: string) =>
  db.run(sql<{ instants: number; runs: number }>`
    select count(distinct scheduled_for)::integer as instants, count(*)::integer as runs from run
    where task_id = ${taskId} and kind = 'backfill'`)

test('concurrent writers write every occurrence of a backfill exactly once', async () => {
  const { id, taskId } = await aBackfill(3_000)
  const writers = [1, 2, 3, 4].map(() => writer())

  while ((await read(id))?.state === 'running') {
    await lookNow()
    await Promise.all(writers.map((one) => one.runOnce()))
    await completeAll(taskId)
  }

  expect(await instantsOf(taskId)).toEqual([{ instants: 3_000, runs: 3_000 }])
  expect(await read(id)).toMatchObject({
    state: 'completed',
    started: 3_000,
    completed: 3_000,
    passedOver: 0,
  })
})

/** A database whose connection breaks in the middle of a transaction, at its nth statement. */
function breakingAt(n: number): Database {
  return {
    run: db.run.bind(db),
    transaction: <T>(work: (tx: Queryable) => Promise<T>) =>
      db.transaction((tx) => {
        let count = 0
        const run = <Row>(statement: Statement<Row>) => {
          count += 1
          if (count === n) throw new Error('the connection broke')
          return tx.run(statement)
        }
        return work({ run } as Queryable)
      }),
  } as unknown as Database
}

test('a writer that dies at any statement leaves no partial change', async () => {
  for (const newestFirst of [false, true]) {
    const { id, taskId } = await aBackfill(600, { newestFirst })
    for (let n = 1; n <= 5; n++) {
      const before = await read(id)
      await lookNow()
      await expect(writer(breakingAt(n)).runOnce()).rejects.toThrow('the connection broke')
      expect(await read(id)).toEqual(before)
    }

    while ((await read(id))?.state === 'running') {
      await lookNow()
      await writer().runOnce()
      await completeAll(taskId)
    }

    expect(await instantsOf(taskId)).toEqual([{ instants: 600, runs: 600 }])
  }
})

test('a rate-limited backfill is written slightly ahead, at even intervals that the next writer continues', async () => {
  const { id, taskId } = await aBackfill(100, { rate: '10/s' })
  const wakes = async () =>
    (
      await db.run(sql<{ at: number }>`
        select wake_at as at from agenda where task_id = ${taskId} and kind = 'backfill' order by wake_at`)
    ).map(({ at }) => at)

  await writer().runOnce()
  const first = await wakes()
  await db.run(
    sql`update backfill set next_at = next_at - interval '1500 ms', look_at = now() where id = ${id}`,
  )
  await db.run(
    sql`update agenda set wake_at = wake_at - interval '1500 ms' where task_id = ${taskId} and kind = 'backfill'`,
  )
  await writer().runOnce()
  const second = await wakes()

  expect(first).toHaveLength(21)
  expect(second.length).toBeGreaterThan(first.length + 5)
  const gaps = second.slice(1).map((at, i) => at - (second[i] ?? 0))
  for (const gap of gaps) expect(Math.abs(gap - 100)).toBeLessThanOrEqual(2)
  await db.run(sql`update backfill set state = 'cancelled', ended_at = now() where id = ${id}`)
})

test('a one-by-one backfill writes no run while another run of the task is active', async () => {
  const { id, taskId } = await aBackfill(10, { oneByOne: true })
  await db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, kind, state)
    values (${uuidv7()}, ${taskId}, ${DEFAULT_PROJECT_ID}, 0, now(), now(), 1, 0, 'manual', 'pending')`)

  await writer().runOnce()
  const blocked = await read(id)
  await db.run(sql`delete from agenda where task_id = ${taskId} and kind = 'manual'`)
  await lookNow()
  await writer().runOnce()
  await lookNow()
  await writer().runOnce()

  expect(blocked).toMatchObject({ started: 0 })
  expect(await read(id)).toMatchObject({ started: 1, waiting: 1 })
  await db.run(sql`update backfill set state = 'cancelled', ended_at = now() where id = ${id}`)
})

test('30 000 occurrences are written in slices, and no statement scans a whole table', {
  timeout: 120_000,
}, async () => {
  const OCCURRENCES = 30_000
  await makePastDays(db, 30)
  // Beside so few rows as its own, reading the whole agenda could be the best plan there is.
  const others = await occurrencesOfAnother(50_000)
  const idle = (await tasksInAgenda(db, { count: 2_000, dueAt: FAR })).map(({ taskId }) => taskId)
  await db.run(sql`delete from agenda where task_id = any(${list(idle, (id) => id)}::uuid[])`)
  await db.run(sql`analyze`)
  const backfill = await aBackfill(OCCURRENCES)
  const { id, taskId, from } = backfill
  const one = writer()
  let slices = 0
  const startedAt = performance.now()

  const plans = async () => {
    const instants = Array.from({ length: 700 }, (_, i) => from + (OCCURRENCES / 2 + i) * 1_000)
    const statements = [
      unfilled({ taskId, instants, force: false }),
      liveRuns({ taskId, number: 1 }),
      findBackfills({ projectId: DEFAULT_PROJECT_ID, id, limit: 1 }),
      lockBackfill([]),
    ]
    return Promise.all(statements.map((statement) => planOf(db, statement)))
  }
  let halfway: Awaited<ReturnType<typeof plans>> = []
  while ((await read(id))?.state === 'running') {
    await lookNow()
    await one.runOnce()
    await completeAll(taskId)
    slices += 1
    if (slices === 20) halfway = await plans()
  }

  process.stdout.write(
    `  ${OCCURRENCES} occurrences in ${slices} slices, ${(performance.now() - startedAt).toFixed(0)} ms\n`,
  )
  expect(halfway).not.toEqual([])
  expect(await instantsOf(taskId)).toEqual([{ instants: OCCURRENCES, runs: OCCURRENCES }])
  for (const { tablesRead, rows } of [...halfway, ...(await plans())]) {
    expect(tablesRead).toEqual([])
    expect(rows).toBeLessThan(5_000)
  }
  await db.run(sql`delete from agenda where task_id = ${others}`)
})

test('a backfill is deleted with the history of its runs', async () => {
  const { id } = await aBackfill(1)
  await db.run(
    sql`update backfill set state = 'cancelled', ended_at = now() - interval '10 days' where id = ${id}`,
  )

  await db.run(deleteOldBackfills(11))
  const kept = await read(id)
  await db.run(deleteOldBackfills(9))

  expect(kept).toMatchObject({ id, state: 'cancelled' })
  expect(await read(id)).toBeUndefined()
})

test('runs of a backfill wait in the catch-up lane, behind all runs on time', async () => {
  const { id, taskId } = await aBackfill(3)
  await lookNow()
  await writer().runOnce()

  const rows = await db.run(sql<{ isCatchUp: boolean; queue: string; priority: number }>`
    select l.catchup as "isCatchUp", l.queue, a.priority from agenda a join lane l on l.id = a.lane where a.task_id = ${taskId} and a.kind = 'backfill'`)

  expect(rows).toEqual(Array(3).fill({ isCatchUp: true, queue: 'default', priority: BEHIND_ON_TIME }))
  await completeAll(taskId)
  await lookNow()
  expect(await read(id)).toMatchObject({ state: 'running' })
})

test('a backfill at its limit of waiting runs does not block catch-up runs', async () => {
  const { taskId } = await aBackfill(500)
  await lookNow()
  await writer().runOnce()
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id) select lane, priority, wake_at, run_id from agenda where task_id = ${taskId} and kind = 'backfill'`)
  const [late] = await tasksInAgenda(db)
  await db.run(sql`update agenda set kind = 'catchup' where run_id = ${late?.runId}`)

  const found = await db.run(
    readCatchUp({
      shards: [late?.shard ?? 0],
      now: Date.now(),
      until: Date.now(),
      limit: 10,
      maxWaiting: 400,
    }),
  )

  expect(found.map(({ runId }) => runId)).toContain(late?.runId)
  await db.run(sql`delete from ready`)
  await completeAll(taskId)
})
