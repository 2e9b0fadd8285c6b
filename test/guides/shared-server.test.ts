/** Guides that begin with a Belfry that runs, followed to the letter: one after the other, on one server. */
import { beforeAll, test } from 'vitest'
import { FILES, read } from '../project/tree.ts'
import { makeDatabase } from '../support/database.ts'
import { aDirectory, type Belfry, startBelfry } from '../support/process.ts'
import { follow } from './reader.ts'

/** All of them but those that start servers of their own. */
const OWN_SERVERS = [
  'first-task-in-five-minutes',
  'a-cluster-on-postgresql',
  'sign-in-with-your-company-account',
  'put-it-on-a-network',
  'replace-cron-on-your-servers',
  'README',
]
const PAGES = FILES.flatMap((path) => /^docs\/guides\/(.+)\.md$/.exec(path)?.[1] ?? []).filter(
  (name) => !OWN_SERVERS.includes(name),
)

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

test.each(PAGES)('the guide %s works as written', { retry: 0 }, async (name) => {
  await follow(read(`docs/guides/${name}.md`), { home: aDirectory(), server: server.url })
})
