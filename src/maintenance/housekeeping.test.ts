import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { makeHistory } from '../../test/support/history.ts'
import { uuidv7 } from '../core/ids.ts'
import { sql } from '../store/database/sql.ts'
import { summariseHistory } from '../store/history/partitions.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Housekeeping } from './housekeeping.ts'

const { db } = await createTestDatabase()
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
