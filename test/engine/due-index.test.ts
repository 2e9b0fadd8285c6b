/**
 * The due index is one table cut into shards (ADR 0012), and a look ahead costs what it finds: a few pages a
 * shard, however much is in the future, and however much is dead in front of it.
 */
import { afterAll, expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { lookAhead } from '../../src/store/agenda/look-ahead.ts'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Plan, planOf } from '../support/plan.ts'

const { url } = await createTestDatabase()
const db = new Database({
  ...{ url, applicationName: 'belfry test', maxConnections: 1, statementTimeoutMs: 60_000 },
  favourIndexes: true,
})
afterAll(() => db.close())

const SHARDS = Array.from({ length: 64 }, (_, id) => id)
const DAY_MS = 86_400_000
/** From the root of the index to a leaf, a neighbouring leaf, and a row of the table. */
const PAGES_A_SHARD = 5
/** Entries of the index on one of its pages, at the least. */
const ENTRIES_A_PAGE = 100

/** Rows of the agenda that are due at random instants. */
const addRows = (count: number, from: number, until: number) =>
  db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal)
    select gen_random_uuid(), gen_random_uuid(), ${DEFAULT_PROJECT_ID}, floor(random() * 64)::smallint, at, at, 1, 1
    from (select to_timestamp((${from}::float8 + random() * (${until}::float8 - ${from}::float8)) / 1000) as at
          from generate_series(1, ${count}::integer)) due`)

const look = (from: number | null, until: number, limitPerShard = 125): Promise<Plan> =>
  planOf(db, lookAhead({ shards: SHARDS, from, until, limitPerShard }))

test('reading ahead costs a few pages per shard, with 10 000 future rows or 100 000', async () => {
  const now = Date.now()
  await addRows(10_000, now + 60_000, now + 30 * DAY_MS)
  const few = await look(now, now + 10_000)

  await addRows(90_000, now + 60_000, now + 30 * DAY_MS)
  const many = await look(now, now + 10_000)

  expect(many).toMatchObject({ tablesRead: [], rows: 0 })
  expect(few.pages).toBeLessThanOrEqual(SHARDS.length * PAGES_A_SHARD)
  expect(many.pages).toBeLessThanOrEqual(few.pages + SHARDS.length)
})

test('reading due rows stops at the limit per shard, however many are due', async () => {
  const now = Date.now()
  await addRows(20_000, now - 5_000, now)

  const { rows, tablesRead, pages } = await look(null, now, 10)

  expect(rows).toBe(SHARDS.length * 10)
  expect(tablesRead).toEqual([])
  expect(pages).toBeLessThanOrEqual(SHARDS.length * (PAGES_A_SHARD + 10))
})

test('dead rows that are not yet vacuumed are skipped by the index alone', async () => {
  const now = Date.now()
  const dead = await db.run(
    sql`delete from agenda where wake_at < ${new Date(now).toISOString()} returning 1`,
  )
  expect(dead.length).toBeGreaterThanOrEqual(20_000)
  const bound = SHARDS.length * PAGES_A_SHARD + dead.length / ENTRIES_A_PAGE

  // Whoever passes marks in the index what it found dead in the table, and those after it are spared that; it
  // must be dead to everybody, and analysing the table, as autovacuum may be doing, takes a while.
  const all = await eventually(
    async () => {
      const plan = await look(null, now)
      return plan.pages <= bound && plan
    },
    { withinMs: 60_000 },
  )
  const ahead = await look(now, now + 10_000)

  expect(all).toMatchObject({ tablesRead: [], rows: 0 })
  expect(ahead.pages).toBeLessThanOrEqual(SHARDS.length * PAGES_A_SHARD)
})

test('after a vacuum, dead rows cost no pages', async () => {
  await db.run(sql`vacuum agenda`)

  const { pages } = await look(null, Date.now())

  expect(pages).toBeLessThanOrEqual(SHARDS.length * PAGES_A_SHARD)
})

test('the agenda is one unpartitioned table, so each run and each occurrence is in it once', async () => {
  const [table] = await db.run(
    sql<{ kind: string }>`select relkind as kind from pg_class where oid = 'agenda'::regclass`,
  )
  const indexes = await db.run(
    sql<{ index: string }>`
      select (i.indisunique::text || ' ' || regexp_replace(pg_get_indexdef(i.indexrelid), '.*using btree (\\([^)]*\\))( with [^)]*\\))?', '\\1', 'i')) as index
      from pg_index i where i.indrelid = 'agenda'::regclass order by 1`,
  )

  expect(table?.kind).toBe('r')
  expect(indexes.map(({ index }) => index)).toEqual([
    expect.stringMatching(/^false \(project_id, shard, wake_at\) WHERE \(\(wake_at > scheduled_for\) AND /),
    expect.stringMatching(/^false \(project_id, shard, wake_at\) WHERE \(project_id <> /),
    'false (shard, wake_at)',
    "false (shard, wake_at) WHERE (kind = 'catchup'::agenda_kind)",
    'true (run_id)',
    'true (task_id, scheduled_for, kind, serial)',
  ])
})
