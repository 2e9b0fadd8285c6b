/** Projects that keep their history and their audit log for longer or shorter than the nodes say. */

import { beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { uuidv7 } from '../core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { DAY_MS } from '../core/values/time-units.ts'
import { findBackfills } from '../store/backfills/backfills.ts'
import { list, sql } from '../store/database/sql.ts'
import { ensurePartitionsOf } from '../store/history/partitions.ts'
import { deleteOldHistory } from '../store/history/retention.ts'
import { historyBeginOf } from '../store/history/run-search.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Housekeeping } from './housekeeping.ts'
import { Retention } from './retention.ts'

const { db } = await createTestDatabase()
const log = silentLogger()
const DAYS = { historyDays: 30, auditDays: 60 }
const retention = new Retention({ db, log, ...DAYS, everyMs: 600_000 })
const housekeeping = new Housekeeping({
  ...{ db, log, ...DAYS, deadNodeMinutes: 60, unusedQueueDays: 30, unusedFileDays: 30, everyMs: 600_000 },
})
const INSTALLATION = '00000000-0000-0000-0000-000000000000'
const OTHER = DEFAULT_PROJECT_ID
let shop = ''
let task = ''
let otherTask = ''

beforeEach(async () => {
  await db.run(sql`update project set history_days = null, audit_log_days = null`)
  await db.run({
    text: 'truncate run, attempt, run_log, run_override, run_retry, dead_letter_settled, retention',
    values: [],
  })
  await db.run(sql`update retention_sweep set day = null, parent = null, page = 0`)
  await db.run(sql`update project set created_at = now() - interval '1 year'`)
  await db.run(sql`update audit_progress set round_ended_at = now(), round_ms = 0`)
  shop = await aProject()
  task = await aTask(shop)
  otherTask = await aTask(OTHER)
})

async function aProject(): Promise<string> {
  const id = uuidv7()
  await db.run(
    sql`insert into project (id, name, created_at) values (${id}, ${id}, now() - interval '1 year')`,
  )
  return id
}

async function aTask(projectId: string): Promise<string> {
  const id = uuidv7()
  await db.run(
    sql`insert into task (id, project_id, action_type, definition) values (${id}, ${projectId}, 'sleep', '{}')`,
  )
  return id
}

/** The partitions of a day, as if the program had been running then. */
async function makeDay(daysAgo: number): Promise<void> {
  const day = Math.floor(Date.now() / DAY_MS) * DAY_MS - daysAgo * DAY_MS
  const [from = '', to = ''] = [day, day + DAY_MS].map((at) => new Date(at).toISOString())
  for (const parent of ['run', 'attempt', 'run_log'])
    await db.run({
      text: `create table if not exists ${parent}_${from.slice(0, 10).replaceAll('-', '')} partition of ${parent} for values from ('${from}') to ('${to}')`,
      values: [],
    })
}

/** Runs that ended `daysAgo`, each with two attempts, a log and everything else that belongs to a run. */
async function ran(taskId: string, daysAgo: number, count = 1): Promise<void> {
  await makeDay(daysAgo)
  await db.run(sql`
    with made as (
      insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, fence, attempt, kind, state, outcome, output)
      select gen_random_uuid(), t.id, t.project_id, at, at, at, 1, n, 1, 2, 'occurrence', 'completed', 'completed', '{"status": 200}'
      from task t, generate_series(1, ${count}::integer) n,
           lateral (select date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - ${daysAgo}::integer * interval '1 day' + n * interval '1 second' as at) a
      where t.id = ${taskId}
      returning *
    ), tried as (
      insert into attempt (run_id, task_id, ended_at, number, fence, outcome) select run_id, task_id, ended_at, 1, 1, 'failed' from made
    ), logged as (
      insert into run_log (run_id, fence, seq, claimed_at, attempt, stream, at, text, bytes)
      select run_id, 1, 0, ended_at, 1, 'stdout', ended_at, 'hello', 69 from made
    ), overridden as (
      insert into run_override (run_id, override) select run_id, '{}' from made
    ), retried as (
      insert into run_retry (run_id, retry_of) select run_id, gen_random_uuid() from made
    )
    insert into dead_letter_settled (run_id, ended_at, how) select run_id, ended_at, 'dismissed' from made`)
}

const keep = (projectId: string, days: { history?: number | null; auditLog?: number | null }) =>
  db.run(sql`
    update project set history_days = ${days.history ?? null}, audit_log_days = ${days.auditLog ?? null} where id = ${projectId}`)

async function sweep(): Promise<void> {
  for (let again: number | undefined = 0; again !== undefined; ) again = await retention.runOnce()
}

const tidy = () => eventually(async () => (await housekeeping.runOnce()) === undefined)

/** How many days ago the runs of a task ended that are still in history. */
async function daysLeft(taskId: string): Promise<number[]> {
  const rows = await db.run(sql<{ ago: number }>`
    select distinct (now() at time zone 'UTC')::date - (ended_at at time zone 'UTC')::date as ago from run where task_id = ${taskId} order by 1`)
  return rows.map(({ ago }) => ago)
}

async function beginOf(projectId: string): Promise<number> {
  const [begin] = await db.run(historyBeginOf(projectId))
  return Math.floor(Date.now() / DAY_MS) - (begin?.at ?? 0) / DAY_MS
}

async function count(table: string): Promise<number> {
  const [row] = await db.run<{ count: number }>({
    text: `select count(*)::integer as count from ${table}`,
    values: [],
  })
  return row?.count ?? 0
}

test('without a project that sets a retention, the sweep writes nothing', async () => {
  await ran(otherTask, 29)
  const state = () =>
    db.run(
      sql`select xmin::text, xmax::text, ctid::text from retention_sweep union all select '', '', project_id::text from retention`,
    )
  const before = await state()

  await sweep()

  expect(await state()).toEqual(before)
  expect(await daysLeft(otherTask)).toEqual([29])
})

test('history is deleted only after an audit of the tasks that finished in it', async () => {
  await ran(task, 9)
  await keep(shop, { history: 8 })
  await db.run(sql`update audit_progress set round_ended_at = now() - interval '3 days'`)
  await sweep()
  const before = await daysLeft(task)

  await db.run(sql`update audit_progress set round_ended_at = now()`)
  await sweep()

  expect(before).toEqual([9])
  expect(await daysLeft(task)).toEqual([])
})

test('a shorter retention deletes older runs of its project with all their data, and of no other project', async () => {
  for (const days of [0, 7, 8, 9, 29]) {
    await ran(task, days)
    await ran(otherTask, days)
  }
  await keep(shop, { history: 7 })

  await sweep()

  expect(await daysLeft(task)).toEqual([0, 7])
  expect(await daysLeft(otherTask)).toEqual([0, 7, 8, 9, 29])
  for (const table of ['run', 'attempt', 'run_log', 'run_override', 'run_retry', 'dead_letter_settled'])
    expect([table, await count(table)]).toEqual([table, 7])
  expect(await beginOf(shop)).toBe(7)
  expect(await beginOf(OTHER)).toBeGreaterThanOrEqual(29)
})

test('logs of a run that lasted for days are deleted by the day of their attempt', async () => {
  await ran(task, 9)
  await ran(task, 8)
  for (const days of [3, 4]) await makeDay(days)
  await db.run(sql`update run set ended_at = ended_at + interval '5 days' where task_id = ${task}`)
  await keep(shop, { history: 7 })

  await sweep()

  expect(await daysLeft(task)).toEqual([3, 4])
  expect(await count('run_log')).toBe(0)
})

test('attempts and logs of runs that have not ended are kept', async () => {
  await ran(task, 9, 2)
  await db.run(sql`
    with live as (delete from run where task_id = ${task} and ordinal = 1 returning *)
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, state, attempt)
    select run_id, task_id, project_id, 0, now(), scheduled_for, version, ordinal, 'retrying', 1 from live`)
  await keep(shop, { history: 7 })

  await sweep()

  const [live] = await db.run(
    sql<{ id: string }>`delete from agenda where task_id = ${task} returning run_id as id`,
  )
  expect(await daysLeft(task)).toEqual([])
  for (const table of ['attempt', 'run_log'])
    expect([table, await count(table), await count(`${table} where run_id = '${live?.id}'`)]).toEqual([
      table,
      1,
      1,
    ])
})

test('a backfill still counts runs whose history is deleted, page by page or with its day', async () => {
  const [swept, dropped] = [await aTask(shop), await aTask(shop)]
  const fates = ['completed', 'permanently_failed', 'permanently_failed', 'cancelled', 'skipped', 'completed']
  for (const [taskId, daysAgo] of [
    [swept, 20],
    [dropped, 40],
  ] as const) {
    await ran(taskId, daysAgo, fates.length)
    await db.run(sql`
      update run set kind = 'backfill', reason = 'overlap', ordinal = 1, state = (${list(fates, (fate) => fate)}::run_state[])[ordinal] where task_id = ${taskId}`)
    await db.run(sql`
      insert into backfill (id, project_id, task_id, number, version, from_at, to_at, newest_first, one_by_one, force, occurrences, started, next_at, look_at, created_at)
      values (${uuidv7()}, ${shop}, ${taskId}, 1, 1, now() - interval '60 days', now(), false, false, false, 6, 6, now(), now(), now() - interval '60 days')`)
  }
  const counts = () =>
    Promise.all(
      [swept, dropped].map(
        async (taskId) => (await db.run(findBackfills({ projectId: shop, taskId, limit: 1 })))[0],
      ),
    )
  const before = await counts()

  await keep(shop, { history: 10 })
  await tidy()
  await sweep()

  expect([await daysLeft(swept), await daysLeft(dropped)]).toEqual([[], []])
  expect(before).toMatchObject([swept, dropped].map(() => ({ completed: 2, failed: 2, cancelled: 2 })))
  expect(await counts()).toEqual(before)
})

test('history is kept for the longest retention, and other projects keep the default', async () => {
  for (const days of [29, 31, 44, 46]) {
    await ran(task, days)
    await ran(otherTask, days)
  }
  await keep(shop, { history: 45 })
  await db.run(sql`update project set archived_at = now() where id = ${shop}`)

  await tidy()
  await sweep()

  expect(await daysLeft(task)).toEqual([29, 31, 44])
  expect(await daysLeft(otherTask)).toEqual([29])
  expect(await count('dead_letter_settled')).toBe(4)
  expect(await beginOf(OTHER)).toBe(30)
  expect(await beginOf(shop)).toBe(44)
})

test('a run that is stored after its day was dropped does not move the start of history back', async () => {
  for (const days of [29, 30, 31, 40]) await ran(task, days)
  await tidy()
  const before = await Promise.all([shop, OTHER].map(beginOf))

  await db.run(ensurePartitionsOf(Date.now() - 40 * DAY_MS))
  await ran(task, 40)

  expect(await Promise.all([shop, OTHER].map(beginOf))).toEqual(before)
  expect(await daysLeft(task)).toEqual([29, 30, 40])
})

test('a longer retention restores nothing and keeps the rest, and the start of history stays correct', async () => {
  for (const days of [3, 6, 10, 20]) await ran(task, days)
  await keep(shop, { history: 7 })
  await sweep()

  await keep(shop, { history: 25 })
  await sweep()
  const longer = await daysLeft(task)
  await keep(shop, { history: 5 })
  await sweep()

  expect(longer).toEqual([3, 6])
  expect(await daysLeft(task)).toEqual([3])
  expect(await beginOf(shop)).toBe(5)
})

test('after a retention is removed, only the day in progress is still deleted', async () => {
  for (const days of [10, 12]) await ran(task, days)
  await keep(shop, { history: 7 })
  // Days without runs pass; of the twelfth day only the logs are gone.
  const twelfth = new Date(Date.now() - 12 * DAY_MS).toISOString().slice(0, 10)
  await eventually(async () => {
    await db.run(deleteOldHistory({ days: 30, maxPages: 128 }))
    const [at] = await db.run(
      sql<{ day: string | null }>`select day::text, parent from retention_sweep where parent = 'attempt'`,
    )
    return at?.day === twelfth
  })

  await keep(shop, {})
  await sweep()

  expect(await daysLeft(task)).toEqual([10])
  expect(await beginOf(shop)).toBe(11)
})

test('a sweep has bounded steps, shares pages between nodes and continues after an interruption', async () => {
  await ran(task, 9, 2_000)
  await ran(otherTask, 9, 100)
  await keep(shop, { history: 8 })
  const step = () => db.run(deleteOldHistory({ days: 30, maxPages: 4 }))
  let most = 0
  let deleted = 0

  await expect(
    db.transaction(async (tx) => {
      for (let n = 0; n < 5; n++) await tx.run(deleteOldHistory({ days: 30, maxPages: 4 }))
      throw new Error('the node died')
    }),
  ).rejects.toThrow('died')
  for (;;) {
    const steps = (await Promise.all([step(), step(), step()])).flat()
    for (const one of steps) {
      most = Math.max(most, one.deleted)
      deleted += one.deleted
    }
    if (steps.every(({ hasMore }) => !hasMore)) break
  }

  expect(deleted).toBe(3 * 2_000)
  expect(most).toBeLessThan(1_000)
  expect(await count('run')).toBe(100)
})

test('a day that is dropped during its sweep is skipped', async () => {
  await ran(task, 9)
  await keep(shop, { history: 8 })
  const day = new Date(Date.now() - 9 * DAY_MS).toISOString().slice(0, 10)
  await db.run(sql`update retention_sweep set day = ${day}::date, parent = 'attempt'`)
  for (const parent of ['run', 'attempt', 'run_log'])
    await db.run({ text: `drop table ${parent}_${day.replaceAll('-', '')}`, values: [] })

  await sweep()

  expect(await count('retention_sweep where day is null')).toBe(1)
})

async function noted(projectId: string, daysAgo: number): Promise<void> {
  await db.run(sql`
    insert into audit_entry (id, at, project_id, actor_kind, action, subject_kind)
    select overlay(least_uuid_at(at)::text placing right(gen_random_uuid()::text, 12) from 25)::uuid, at, ${projectId}::uuid, 'system', 'task.edit', 'task'
    from (select now() - ${daysAgo}::integer * interval '1 day' as at) a`)
}

async function entriesOf(projectId: string): Promise<number[]> {
  const rows = await db.run(sql<{ ago: number }>`
    select (now() at time zone 'UTC')::date - (at at time zone 'UTC')::date as ago from audit_entry where project_id = ${projectId} order by 1`)
  return rows.map(({ ago }) => ago)
}

test('audit log entries are deleted only by the retention of their project', async () => {
  for (const projectId of [shop, OTHER, INSTALLATION])
    for (const days of [1, 10, 11, 59, 61, 89]) await noted(projectId, days)
  const third = await aProject()
  await noted(third, 89)
  await keep(third, { auditLog: 90 })
  await keep(shop, { auditLog: 10 })
  await ran(task, 20)

  await tidy()
  await sweep()

  await keep(shop, { auditLog: 10, history: 10 })
  await sweep()

  expect(await daysLeft(task)).toEqual([])
  expect(await entriesOf(shop)).toEqual([1, 10])
  expect(await entriesOf(OTHER)).toEqual([1, 10, 11, 59])
  expect(await entriesOf(INSTALLATION)).toEqual([1, 10, 11, 59])
  expect(await entriesOf(third)).toEqual([89])
  await expect(db.run(sql`delete from audit_entry where project_id = ${shop}`)).rejects.toThrow(
    'cannot be changed or deleted',
  )
  await expect(db.run(sql`update audit_entry set reason = 'none'`)).rejects.toThrow(
    'cannot be changed or deleted',
  )
})

test('very long retentions delete nothing', async () => {
  await noted(shop, 89)
  await ran(task, 29)
  await keep(OTHER, { history: 36_500, auditLog: 36_500 })
  await keep(shop, { history: 36_000, auditLog: 36_000 })

  await tidy()
  await sweep()

  expect(await entriesOf(shop)).toEqual([89])
  expect(await daysLeft(task)).toEqual([29])
})
