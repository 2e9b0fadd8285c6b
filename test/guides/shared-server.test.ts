/** Guides that begin with a Belfry that runs, followed to the letter: one after the other, on one server. */
import { beforeAll, expect, test } from 'vitest'
import { FILES, read } from '../project/tree.ts'
import { makeDatabase } from '../support/database.ts'
import { aDirectory, type Belfry, startBelfry } from '../support/process.ts'
import { follow } from './reader.ts'

const GUIDES = FILES.flatMap((path) => /^docs\/guides\/(.+)\.md$/.exec(path)?.[1] ?? []).filter(
  (name) => name !== 'README',
)
/** Guides that the other file executes, because they start their own servers. */
const OWN_SERVERS = [
  ...read('test/guides/own-server.scenario.ts').matchAll(/follow\(read\('docs\/guides\/(.+)\.md'\)/g),
].map(([, name = '']) => name)
const PAGES = GUIDES.filter((name) => !OWN_SERVERS.includes(name))

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

test('every guide is executed by a test', () => {
  expect([...PAGES, ...OWN_SERVERS].sort()).toEqual(GUIDES)
  expect(read('docs/guides/README.md')).toContain('`npm run suite guides`')
})

test.each(PAGES)('the guide %s works as written', { retry: 0 }, async (name) => {
  await follow(read(`docs/guides/${name}.md`), { home: aDirectory(), server: server.url })
})
