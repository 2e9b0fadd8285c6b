import { expect, test } from 'vitest'
import { read, SOURCES } from './tree.ts'

/** Putting and taking are the transport's: src/store/ready has the SQL of both halves. */
test('only the transport writes to ready', () => {
  const writers = SOURCES.filter((path) => /(insert into|delete from|update) ready\b/i.test(read(path)))

  expect(writers).toEqual(['src/store/ready/put.ts', 'src/store/ready/take.ts'])
})

test('only the store and the transport use the statements that write to ready', () => {
  const users = SOURCES.filter((path) => /from '[./]+\/(?:store\/)?ready\/(?:put|take)\.ts'/.test(read(path)))

  expect(users).toContain('src/transport/postgres/postgres-transport.ts')
  expect(users.filter((path) => !/^src\/(?:store|transport)\//.test(path))).toEqual([])
})
