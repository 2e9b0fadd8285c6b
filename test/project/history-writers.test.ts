/** Events count on how history is written (docs/adr/0019): every statement that appends to it is looked at. */
import { expect, test } from 'vitest'
import { read, SOURCES } from './tree.ts'

const INSERT = /insert into run \(([^)]*)\)([\s\S]*?)(?:\n {2,4}\)|`)/g

test('statements that append to history, except outcomes.ts, set ended_at to the current time', () => {
  const statements = SOURCES.filter(
    (path) => path.startsWith('src/store/') || path.startsWith('src/transport/'),
  )
    .filter((path) => path !== 'src/store/agenda/outcomes.ts')
    .flatMap((path) => [...read(path).matchAll(INSERT)].map(([text]) => ({ path, text })))

  expect(statements.length).toBeGreaterThan(1)
  for (const { path, text } of statements)
    expect(text, `${path} appends to run: ended_at must be clock_timestamp()`).toContain('clock_timestamp()')
})

test('no statement uses a savepoint', () => {
  const sources = SOURCES.filter((path) => path.startsWith('src/') && !path.endsWith('.test.ts')).map(read)

  expect(sources.filter((text) => /\bsavepoint\s+\w/i.test(text))).toEqual([])
})
