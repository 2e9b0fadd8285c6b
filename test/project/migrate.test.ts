import { expect, test } from 'vitest'
import releases from '../../releases.json' with { type: 'json' }
import { uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { readOldestMigration } from '../../src/store/schema/compatibility.ts'
import { type Migration, MigrationError, migrate, readMigrations } from '../../src/store/schema/migrate.ts'
import { createTestDatabase, MIGRATIONS } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { makeHistory } from '../support/history.ts'
import { read } from './tree.ts'

const migrations = await readMigrations(MIGRATIONS)
const numbers = migrations.map(({ number }) => number)

const anEmptyDatabase = async () => (await createTestDatabase({ empty: true })).db
const appliedIn = async (db: Database) =>
  (await db.run(sql<{ number: number }>`select number from migration order by number`)).map(
    ({ number }) => number,
  )
const tablesIn = (db: Database) =>
  db.run(sql<{ name: string }>`select tablename as name from pg_tables where schemaname = current_schema()`)

const aMigration = (changes: Partial<Migration>): Migration => ({
  number: (numbers.at(-1) ?? 0) + 1,
  name: 'one_more',
  text: 'create table one_more ()',
  checksum: 'any',
  ...changes,
})

test('migrations are numbered from one without gaps', () => {
  expect(numbers).toEqual(numbers.map((_, index) => index + 1))
})

test('nodes that start at the same time apply each migration once', async () => {
  const db = await anEmptyDatabase()

  const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(db, migrations)))

  expect(
    applied
      .flat()
      .map(({ number }) => number)
      .sort((a, b) => a - b),
  ).toEqual(numbers)
  expect(await appliedIn(db)).toEqual(numbers)
})

test('a database that is up to date is left as it is', async () => {
  const { db } = await createTestDatabase()

  expect(await migrate(db, migrations)).toEqual([])
})

test('only missing migrations are applied', async () => {
  const { db } = await createTestDatabase()
  const added = aMigration({})

  expect(await migrate(db, [...migrations, added])).toEqual([added])
})

test('an upgrade from the last release rewrites no table, so that nodes of that release keep working', async () => {
  const db = await anEmptyDatabase()
  const filesOf = () =>
    db.run(sql<{ name: string; file: number }>`
      select relname as name, relfilenode as file from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname <> 'migration' order by relname`)
  const lastMigration = releases.at(-1)?.lastMigration ?? 0
  await migrate(
    db,
    migrations.filter(({ number }) => number <= lastMigration),
  )
  const before = await filesOf()

  await migrate(db, migrations)

  expect(await filesOf()).toEqual(expect.arrayContaining(before))
})

test('finished tasks with maxRuns are settled again while history tells how often they ran', async () => {
  const db = await anEmptyDatabase()
  const first = numbers.indexOf(76)
  await migrate(db, migrations.slice(0, first))
  const ids = { counted: uuidv7(), uncounted: uuidv7(), forgotten: uuidv7(), unlimited: uuidv7() }
  for (const [name, id] of Object.entries(ids))
    await db.run(sql`
      insert into task (id, project_id, name, action_type, definition, next_ordinal, updated_at, settled_as_of)
      values (${id}, ${DEFAULT_PROJECT_ID}, ${name}, 'sleep',
              json_build_object('schedule', json_build_object('type', 'every'), 'maxRuns', ${name === 'unlimited' ? null : 3}::integer),
              ${name === 'counted' ? 4 : 1}, now(), now())`)
  const ran = [ids.counted, ids.uncounted, ids.unlimited]
  await makeHistory(db, { runs: 3, from: Date.now() - 3_000, until: Date.now(), taskIds: ran, busyEvery: 9 })

  await migrate(db, migrations)

  const open = await db.run(sql<{ name: string }>`select name from task where settled_as_of is null`)
  expect(open).toEqual([{ name: 'uncounted' }])
})

test('a migration that was changed after it was applied is refused', async () => {
  const { db } = await createTestDatabase()
  const changed = migrations.map((migration) =>
    migration.number === 2 ? { ...migration, checksum: 'another' } : migration,
  )

  const refused = migrate(db, changed)

  await expect(refused).rejects.toThrow(MigrationError)
  await expect(refused).rejects.toThrow(/^Migration 2 \(create_agenda\) was modified/)
})

test('a database with migrations of a newer release is accepted', async () => {
  const { db } = await createTestDatabase()
  await migrate(db, [...migrations, aMigration({})])

  expect(await migrate(db, migrations)).toEqual([])
})

test('a database that requires a newer release is refused', async () => {
  const { db } = await createTestDatabase()
  const text = 'create table one_more (); update compatibility set oldest_migration = 9999'
  await migrate(db, [...migrations, aMigration({ text })])

  const refused = migrate(db, migrations)

  await expect(refused).rejects.toThrow(MigrationError)
  await expect(refused).rejects.toThrow(
    `it requires migration 9999, and this release includes migrations up to ${numbers.at(-1)}. Install a newer release.`,
  )
})

test('the last release can use the current schema', async () => {
  const { db } = await createTestDatabase()
  const releases = JSON.parse(read('releases.json')) as { lastMigration: number }[]

  const [row] = await db.run(readOldestMigration())

  expect(row?.oldestMigration).toBeLessThanOrEqual(releases.at(-1)?.lastMigration ?? 0)
})

const INDEX = 'create index concurrently if not exists task_by_name on task (name)'
const isUsable = async (db: Database) =>
  (
    await db.run(sql<{ isValid: boolean }>`
      select indisvalid as "isValid" from pg_index where indexrelid = to_regclass('task_by_name')`)
  )[0]?.isValid

test('building an index concurrently does not block writes', async () => {
  const { db } = await createTestDatabase()
  const added = aMigration({ text: INDEX })
  let migrating: Promise<Migration[]> | undefined

  await db.transaction(async (tx) => {
    // Whoever has written and not committed yet is waited for: the build is under way for as long as we want.
    await tx.run(sql`update task set name = name`)
    migrating = migrate(db, [...migrations, added])
    await eventually(async () => (await isUsable(db)) === false)
    await db.run(sql`update task set name = name`)
  })

  expect(await migrating).toEqual([added])
  expect(await isUsable(db)).toBe(true)
})

test('an index whose build was interrupted is built again', async () => {
  const { db } = await createTestDatabase()
  const added = aMigration({ text: INDEX })
  await db.runAlone(INDEX)
  await db.run(sql`update pg_index set indisvalid = false where indexrelid = 'task_by_name'::regclass`)

  expect(await migrate(db, [...migrations, added])).toEqual([added])
  expect(await isUsable(db)).toBe(true)
})

const ON_PARTITIONS = 'create index concurrently if not exists run_by_worker on run (worker_id)'
const partsOf = (db: Database) =>
  db.run(sql<{ part: string; isValid: boolean }>`
    select c.relname as part, x.indisvalid as "isValid" from pg_index x join pg_class c on c.oid = x.indexrelid
    where x.indexrelid = to_regclass('run_by_worker')
       or x.indexrelid in (select inhrelid from pg_inherits where inhparent = to_regclass('run_by_worker'))`)

test('an index of a partitioned table is built a partition at a time and does not block writes', async () => {
  const { db } = await createTestDatabase()
  const added = aMigration({ text: ON_PARTITIONS })
  let migrating: Promise<Migration[]> | undefined
  const [partition] = await db.run(
    sql<{
      name: string
    }>`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'run'::regclass order by 1 desc`,
  )

  await db.transaction(async (tx) => {
    // A transaction that has written to the partition keeps the build of its index from ending for as long as the test wants.
    await tx.run({ text: `lock table ${partition?.name} in row exclusive mode`, values: [] })
    migrating = migrate(db, [...migrations, added])
    await eventually(async () => (await partsOf(db)).some(({ isValid }) => !isValid))
    await db.run({ text: `update ${partition?.name} set worker_id = worker_id`, values: [] })
    await db.run(sql`update run set worker_id = worker_id`)
  })

  expect(await migrating).toEqual([added])
  const [days] = await db.run(
    sql<{
      count: number
    }>`select count(*)::integer as count from pg_inherits where inhparent = 'run'::regclass`,
  )
  const parts = await partsOf(db)
  expect(parts.length).toBe((days?.count ?? 0) + 1)
  expect(parts.filter(({ isValid }) => !isValid)).toEqual([])
})

const isWaitingFor = (db: Database, table: string) => async () => {
  const [row] = await db.run(sql<{ isWaited: boolean }>`
    select exists (select from pg_locks where not granted and relation = ${table}::regclass) as "isWaited"`)
  return row?.isWaited === true
}

test('creating an index of a partitioned table does not keep others waiting behind a long transaction', async () => {
  const { db } = await createTestDatabase()
  const added = aMigration({ text: ON_PARTITIONS })
  let migrating: Promise<Migration[]> | undefined

  await db.transaction(async (tx) => {
    await tx.run(sql`update run set worker_id = worker_id`)
    migrating = migrate(db, [...migrations, added])
    await eventually(isWaitingFor(db, 'run'), { everyMs: 5 })
    await db.run(sql`update run set worker_id = worker_id`)
  })

  expect(await migrating).toEqual([added])
})

test('an index becomes valid even if a partition is dropped just before its turn', async () => {
  const { db } = await createTestDatabase()
  const added = aMigration({ text: ON_PARTITIONS })
  const oldest = 'run_20200101'
  await db.run({
    text: `create table ${oldest} partition of run for values from ('2020-01-01 00:00+00') to ('2020-01-02 00:00+00')`,
    values: [],
  })
  let migrating: Promise<Migration[]> | undefined

  await db.transaction(async (tx) => {
    await tx.run({ text: `lock table ${oldest} in share update exclusive mode`, values: [] })
    migrating = migrate(db, [...migrations, added])
    await eventually(isWaitingFor(db, oldest))
    await tx.run({ text: `drop table ${oldest}`, values: [] })
  })
  await migrating

  expect((await partsOf(db)).filter(({ isValid }) => !isValid)).toEqual([])
})

test('migrations wait for a long query without keeping others waiting, and say so', async () => {
  const { db } = await createTestDatabase()
  const added = aMigration({ text: 'alter table project add column one_more text' })
  const steps: string[] = []
  let migrating: Promise<Migration[]> | undefined

  await db.transaction(async (tx) => {
    await tx.run(sql`select count(*) from project`)
    migrating = migrate(db, [...migrations, added], (text) => steps.push(text))
    await eventually(isWaitingFor(db, 'project'), { everyMs: 5 })
    await db.run(sql`select count(*) from project`)
    await eventually(async () => steps.length > 0)
  })

  expect(await migrating).toEqual([added])
  expect(steps).toEqual([expect.stringContaining('wait for long queries')])
})

test('a partition that is added, and one whose build was interrupted, get the index too', async () => {
  const { db } = await createTestDatabase()
  const added = aMigration({ text: ON_PARTITIONS })
  await db.runAlone('create index run_by_worker on only run (worker_id)')
  await db.run(sql`select ensure_partitions(9)`)
  const [unfinished] = await db.run(sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'run'::regclass order by 1 limit 1`)
  const part = `${unfinished?.name}_run_by_worker`
  await db.runAlone(`create index ${part} on ${unfinished?.name} (worker_id)`)
  await db.run(sql`update pg_index set indisvalid = false where indexrelid = ${part}::regclass`)

  expect(await migrate(db, [...migrations, added])).toEqual([added])

  const parts = await partsOf(db)
  expect(parts.map(({ part: name }) => name)).toContain(part)
  expect(parts.filter(({ isValid }) => !isValid)).toEqual([])
})

test('a migration that builds indexes concurrently may contain nothing else', async () => {
  const { db } = await createTestDatabase()
  const mixed = aMigration({ text: `${INDEX}; create table one_more ()` })

  await expect(migrate(db, [...migrations, mixed])).rejects.toThrow(
    /must begin with 'create index concurrently if not exists' or .*: create table one_more/,
  )
})

test('a failed migration is rolled back with the others applied with it', async () => {
  const db = await anEmptyDatabase()
  const broken = aMigration({ text: 'create table one_more (); create table one_more ()' })

  await expect(migrate(db, [...migrations, broken])).rejects.toThrow('already exists')

  expect(await tablesIn(db)).toEqual([])
})

test('after a failure the corrected migrations apply', async () => {
  const db = await anEmptyDatabase()
  await expect(migrate(db, [...migrations, aMigration({ text: 'select from nowhere' })])).rejects.toThrow()

  // Those that build indexes come after the others.
  const applied = await migrate(db, migrations)
  expect(applied.toSorted((a, b) => a.number - b.number)).toEqual(migrations)
})
