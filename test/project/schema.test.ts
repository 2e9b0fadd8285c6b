import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestDatabase, MIGRATIONS } from '../support/database.ts'
import { describeSchema } from './describe-schema.ts'

const HEADER = `-- The schema that the migrations add up to, for reading: nothing applies this file. A test rebuilds it from
-- the migrations and compares; \`npm run schema\` writes it. The migrations also say why, insert the default
-- project and the rows of the 64 shards, and make the partitions of run and attempt, one a day, and of
-- audit_entry, one a month.
`

const { db } = await createTestDatabase()
const schema = `${HEADER}\n${await describeSchema(db)}\n`

test('schema.sql matches the migrations', async () => {
  await expect(schema).toMatchFileSnapshot(join(MIGRATIONS, 'schema.sql'))
})

test('schema.sql makes the schema that it describes', async () => {
  const empty = await createTestDatabase({ empty: true })

  await empty.db.run({ text: schema, values: [] })

  expect(await describeSchema(empty.db)).toBe(await describeSchema(db))
})
