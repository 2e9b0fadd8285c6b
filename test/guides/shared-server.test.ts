/** Guides that begin with a Belfry that runs, followed to the letter: one after the other, on one server. */
import { beforeAll, test } from 'vitest'
import { read } from '../project/tree.ts'
import { makeDatabase } from '../support/database.ts'
import { aDirectory, type Belfry, startBelfry } from '../support/process.ts'
import { follow } from './reader.ts'

let server: Belfry

beforeAll(async () => {
  const { url, drop } = await makeDatabase()
  server = await startBelfry(['--database-url', url, '--log-level', 'warn'])
  return async () => {
    server.kill('SIGTERM')
    await server.exited
    await drop()
  }
})

test.each(['a-worker-in-typescript', 'retries-idempotency-duplicates', 'time-zones-and-daylight-saving'])(
  'the guide %s works as it stands on the page',
  { retry: 0 },
  async (name) => {
    await follow(read(`docs/guides/${name}.md`), { home: aDirectory(), server: server.url })
  },
)
