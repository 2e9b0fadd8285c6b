import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/database.ts'
import { jsonList, list, part, sql } from './sql.ts'

const { db } = await createTestDatabase({ empty: true })

test('values become numbered parameters', () => {
  expect(sql`select ${1} + ${2}`).toEqual({ text: 'select $1 + $2', values: [1, 2] })
})

test('a part brings its values with it, wherever it stands', () => {
  const both = part`a as (select ${'x'} || ${'y'})`
  const none = part`b as (select 1)`

  expect(sql`with ${both}, ${none} select ${1}, ${both}`).toEqual({
    text: 'with a as (select $1 || $2), b as (select 1) select $3, a as (select $4 || $5)',
    values: ['x', 'y', 1, 'x', 'y'],
  })
})

test('a part may consist of parts', () => {
  const inner = part`b = ${'y'}`

  expect(sql`select ${1} where ${part`a = ${'x'} and ${inner}`} limit ${2}`).toEqual({
    text: 'select $1 where a = $2 and b = $3 limit $4',
    values: [1, 'x', 'y', 2],
  })
})

test('the same template with different parts gives different text', () => {
  const statement = (first: unknown, second: unknown) => sql`select ${first} + ${second}`
  const one = part`1`

  for (let i = 0; i < 2; i++) {
    expect(statement(1, 2).text).toBe('select $1 + $2')
    expect(statement(one, 2).text).toBe('select 1 + $1')
    expect(statement(2, one).text).toBe('select $1 + 1')
    expect(statement(part`2`, one).text).toBe('select 2 + 1')
  }
})

test('every text comes back from an array literal as it went in', async () => {
  const storable = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(fc.oneof(storable, fc.constantFrom('NULL', 'null', '', '{', '}', ',', '"', '\\'))), {
        minLength: 1,
      }),
      async (texts) => {
        const literal = list(texts, (text) => text)
        const rows = await db.run(
          sql<{ text: string | null }>`select * from unnest(${literal}::text[]) as u(text)`,
        )
        expect(rows.map((row) => row.text)).toEqual(texts)
      },
    ),
    { numRuns: 50 },
  )
})

test('every JSON text comes back from an array literal byte for byte', async () => {
  const value = fc.oneof(
    fc.jsonValue({ noUnicodeString: false }),
    fc.constantFrom('\\', '"', '\n\t\x7f\u2028', '{"a":"\\"}'),
  )
  const json = value.map((one) => JSON.stringify(one)).filter((text) => !text.includes('\\u'))
  await fc.assert(
    fc.asyncProperty(fc.array(json, { minLength: 1 }), async (texts) => {
      const rows = await db.run(
        sql<{
          text: string
        }>`select document::text as text from unnest(${jsonList(texts, (text) => text)}::json[]) as u(document)`,
      )
      expect(rows.map(({ text }) => text)).toEqual(texts)
    }),
    { numRuns: 50 },
  )
})

test('numbers, booleans, ids and empty lists can be sent as arrays', async () => {
  const rows = [{ n: 1.5, b: true, id: '01900000-0000-7000-8000-000000000000' }]
  const [row] = await db.run(sql`
    select ${list(rows, ({ n }) => n)}::float8[] as n, ${list(rows, ({ b }) => b)}::boolean[] as b,
           ${list(rows, ({ id }) => id)}::uuid[] as id, ${list([], () => null)}::uuid[] as none`)
  expect(row).toEqual({ n: [1.5], b: [true], id: ['01900000-0000-7000-8000-000000000000'], none: [] })
})
