/** Which statements a connection keeps a plan for. */
import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/database.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { keepingPlan, list, sql } from './sql.ts'

const { url } = await createTestDatabase()

function connect(changes: Partial<DatabaseOptions> = {}): Database {
  const options = { url, applicationName: 'belfry test', maxConnections: 1, statementTimeoutMs: 5_000 }
  const database = new Database({ ...options, keepPlans: true, ...changes })
  afterAll(() => database.close())
  return database
}

const count = (numbers: readonly number[]) =>
  sql<{ count: number }>`select count(*)::integer as count from unnest(${list(numbers, (n) => n)}::integer[])`
const numbers = (length: number) => Array.from({ length }, (_, i) => i)

/** How often each statement was carried out by a plan that was kept, on the only connection. */
async function kept(database: Database): Promise<number[]> {
  const rows = await database.transaction((tx) =>
    tx.run(sql<{ uses: number }>`
      select generic_plans + custom_plans as uses from pg_prepared_statements where statement like '%unnest%'`),
  )
  return rows.map(({ uses }) => Number(uses))
}

test('the plan of a small statement is kept, and that of a large one made anew each time', async () => {
  const database = connect()

  for (const length of [3, 5, 5_000])
    expect(await database.run(count(numbers(length)))).toEqual([{ count: length }])

  expect(await kept(database)).toEqual([2])
})

test('a statement about few rows is small, even with long values', async () => {
  const database = connect()
  const pairs = (rows: readonly number[]) => sql`
    select from unnest(${list(rows, (n) => n)}::integer[], ${list(rows, (n) => `{"body":"${'x'.repeat(400)}, ${n}"}`)}::jsonb[])`

  for (const length of [8, 12, 30]) await database.run(pairs(numbers(length)))

  expect(await kept(database)).toEqual([2])
})

test('without keepPlans a statement can request a kept plan', async () => {
  const database = connect({ keepPlans: false })

  for (const length of [3, 5, 5_000]) await database.run(keepingPlan(count(numbers(length))))

  expect(await kept(database)).toEqual([2])
})

test('a plan requested with always is kept for any number of values, also in a transaction', async () => {
  const database = connect({ keepPlans: false })
  const statement = (length: number) => keepingPlan(count(numbers(length)), 'always')

  for (const length of [3, 5_000]) await database.run(statement(length))
  await database.transaction((tx) => tx.run(statement(5_000)))

  expect(await kept(database)).toEqual([3])
})

test('an array value counts as long, so its statement gets no kept plan', async () => {
  const database = connect()

  await database.run(sql`select from unnest(${[1, 2, 3]}::integer[])`)

  expect(await kept(database)).toEqual([])
})

test('no plan is kept without keepPlans or behind a pooler', async () => {
  for (const database of [connect({ keepPlans: false }), connect({ pooling: 'transaction' })]) {
    await database.run(count(numbers(3)))

    expect(await kept(database)).toEqual([])
  }
})
