import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { makeDaysOfToday, makeHistory } from '../../test/support/history.ts'
import { uuidv7 } from '../core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { sql } from '../store/database/sql.ts'
import { dropPartitions, summariseHistory } from '../store/history/partitions.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Housekeeping } from './housekeeping.ts'

const { db } = await createTestDatabase()
await makeDaysOfToday(db)
const housekeeping = new Housekeeping({
  db,
  log: silentLogger(),
  historyDays: 30,
  auditDays: 365,
  deadNodeMinutes: 60,
  unusedQueueDays: 30,
  unusedFileDays: 30,
  everyMs: 600_000,
})

async function partitions(): Promise<string[]> {
  const rows = await db.run(sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'run'::regclass order by 1`)
  return rows.map(({ name }) => name)
}

const day = (offset: number) =>
  new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')

/** All partitions of a day, as if the program had been running then. */
async function makeDay(offset: number): Promise<void> {
  const [from = '', to = ''] = [offset, offset + 1].map((o) =>
    new Date(Date.now() + o * 86_400_000).toISOString().slice(0, 10),
  )
  for (const parent of ['attempt', 'run', 'run_log'])
    await db.run({
      text: `create table ${parent}_${day(offset)} partition of ${parent} for values from ('${from} 00:00+00') to ('${to} 00:00+00')`,
      values: [],
    })
}

test('partitions exist for yesterday, today and a week ahead, also when many nodes make them at once', async () => {
  await db.run({ text: `drop table run_${day(3)}, run_${day(7)}, attempt_${day(5)}`, values: [] })

  await Promise.all([1, 2, 3, 4].map(() => housekeeping.runOnce()))

  expect(await partitions()).toEqual([-1, 0, 1, 2, 3, 4, 5, 6, 7].map((offset) => `run_${day(offset)}`))
})

test('a partition can be created while a transaction reads and writes history', async () => {
  await db.run({ text: `drop table run_${day(6)}`, values: [] })

  await db.transaction(async (tx) => {
    await tx.run(sql`select count(*) from run`)
    await tx.run(sql`lock table run in row exclusive mode`)
    await housekeeping.runOnce()
  })

  expect(await partitions()).toContain(`run_${day(6)}`)
})

test('ended runs can be found by time without autovacuum', async () => {
  await makeHistory(db, { runs: 10_000, from: Date.now() - 1_000, until: Date.now(), taskIds: [uuidv7()] })
  const toSummarise = async () => (await db.run(summariseHistory()))[0]?.ranges

  await housekeeping.runOnce()

  expect(await toSummarise()).toBe(0)
  await makeHistory(db, { runs: 10_000, from: Date.now() - 1_000, until: Date.now(), taskIds: [uuidv7()] })
  expect(await toSummarise()).toBeGreaterThan(0)
})

test('only days beyond the retention are dropped', async () => {
  for (const offset of [-31, -32, -40, -30]) {
    const [from, to] = [offset, offset + 1].map((o) =>
      new Date(Date.now() + o * 86_400_000).toISOString().slice(0, 10),
    )
    await db.run({
      text: `create table run_${day(offset)} partition of run for values from ('${from} 00:00+00') to ('${to} 00:00+00')`,
      values: [],
    })
  }

  await eventually(async () => (await housekeeping.runOnce()) === undefined)

  expect(await partitions()).toEqual([-30, -1, 0, 1, 2, 3, 4, 5, 6, 7].map((offset) => `run_${day(offset)}`))
})

test('a drop that would have to wait gives up, so that no query queues behind it', async () => {
  const [from, to] = [-50, -49].map((o) => new Date(Date.now() + o * 86_400_000).toISOString().slice(0, 10))
  await db.run({
    text: `create table run_${day(-50)} partition of run for values from ('${from} 00:00+00') to ('${to} 00:00+00')`,
    values: [],
  })

  await db.transaction(async (tx) => {
    await tx.run(sql`select count(*) from run`)
    await expect(housekeeping.runOnce()).rejects.toThrow(/lock timeout/)
  })

  await housekeeping.runOnce()
  expect(await partitions()).not.toContain(`run_${day(-50)}`)
})

test('while runs of backfills are counted in a day that is to be dropped, history can be read', async () => {
  const taskId = uuidv7()
  await db.run(sql`
    insert into task (id, project_id, action_type, definition) values (${taskId}, ${DEFAULT_PROJECT_ID}, 'sleep', '{}')`)
  await db.run(sql`
    insert into backfill (id, project_id, task_id, number, version, from_at, to_at, newest_first, one_by_one, force, occurrences, next_at, look_at, created_at)
    values (${uuidv7()}, ${DEFAULT_PROJECT_ID}, ${taskId}, 1, 1, now() - interval '90 days', now(), false, false, false, 1, now(), now(), now() - interval '60 days')`)
  await makeDay(-50)
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, kind, state)
    values (${uuidv7()}, ${taskId}, ${DEFAULT_PROJECT_ID}, now() - interval '60 days', now() - interval '50 days', 1, 1, 'backfill', 'permanently_failed')`)
  const counting = () =>
    db.run(sql<{ locked: number }>`
      select (select count(*) from pg_locks l where l.pid = a.pid and l.granted and l.mode = 'AccessExclusiveLock' and l.locktype = 'relation')::integer as locked
      from pg_stat_activity a where a.datname = current_database() and a.query like '%drop_partitions%' and a.wait_event_type = 'Lock'`)

  // Whoever has locked the backfill keeps the count waiting, until it gives up.
  const seen = await db.transaction(async (tx) => {
    await tx.run(sql`select from backfill where task_id = ${taskId} for update`)
    return eventually(async () => {
      let isOver = false
      const dropping = expect(db.run(dropPartitions(30))).rejects.toThrow(/lock timeout/)
      const refused = dropping.finally(() => {
        isOver = true
      })
      const rows = await eventually(
        async () => {
          const waiting = await counting()
          return (isOver || waiting.length > 0) && waiting
        },
        { everyMs: 5 },
      )
      await refused
      return rows[0]
    })
  })
  const dropped = await db.run(dropPartitions(30))

  expect(seen).toEqual({ locked: 0 })
  expect(dropped).toEqual([{ dropped: 3 }])
  expect(await db.run(sql`select deleted_failed from backfill where task_id = ${taskId}`)).toEqual([
    { deleted_failed: 1 },
  ])
})

test('one day is dropped at a time', async () => {
  await makeDay(-41)
  await makeDay(-42)
  await db.run({ text: `drop table run_log_${day(-42)}`, values: [] })

  const dropped = [await db.run(dropPartitions(30)), await db.run(dropPartitions(30))].flat()

  expect(dropped).toEqual([{ dropped: 2 }, { dropped: 3 }])
  expect(await db.run(dropPartitions(30))).toEqual([{ dropped: 0 }])
})

test.each(['drop_partitions', 'drop_audit_partitions'])(
  '%s also works with a plan that reads the names of all tables',
  async (name) => {
    const dropped = db.transaction(async (tx) => {
      for (const setting of ['enable_nestloop', 'enable_indexscan', 'enable_bitmapscan'])
        await tx.run({ text: `set local ${setting} = off`, values: [] })
      await tx.run({ text: 'discard plans', values: [] })
      return tx.run<{ dropped: number }>({ text: `select ${name}(9999) as dropped`, values: [] })
    })

    expect(await dropped).toEqual([{ dropped: 0 }])
  },
)

test('dead nodes are removed after an hour, and living nodes stay', async () => {
  await db.run(sql`
    insert into node (id, name, version, roles, concurrency, dead_at, reason)
    select gen_random_uuid(), name, '0', '{worker}', 1, now() - ago, case when ago is not null then 'lost' end
    from (values ('long dead', interval '61 minutes'), ('dead', interval '59 minutes'), ('alive', null)) as n(name, ago)`)

  await housekeeping.runOnce()

  expect(await db.run(sql`select name from node order by name`)).toEqual([
    { name: 'alive' },
    { name: 'dead' },
  ])
})

test('stored responses to repeated requests are removed after a day', async () => {
  const columns = await db.run(
    sql<{
      name: string
    }>`select column_name as name from information_schema.columns where table_name = 'idempotency'`,
  )
  expect(columns.map(({ name }) => name)).toContain('created_at')
  await db.run(sql`
    insert into idempotency (project_id, key, fingerprint, status, answer, created_at)
    select gen_random_uuid(), age::text, '\\x00', 201, '{}', now() - age from unnest(array[interval '23 hours', interval '25 hours']) as age`)

  await housekeeping.runOnce()

  expect(await db.run(sql`select key from idempotency`)).toEqual([{ key: '23:00:00' }])
})
