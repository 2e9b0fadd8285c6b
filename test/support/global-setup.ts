/**
 * What all tests share. One real PostgreSQL: the embedded one, or the server that BELFRY_TEST_DATABASE_URL names;
 * it holds a migrated template that each test file clones for itself. And the program and the dashboard as users have
 * them, built before any file reads them.
 */
import { join } from 'node:path'
import { Client, escapeIdentifier, escapeLiteral } from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/embedded/server.ts'
import { Database } from '../../src/store/database/database.ts'
import { migrate, readMigrations } from '../../src/store/schema/migrate.ts'
import { ensureBuilt } from './bootstrap-lock.ts'
import { MIGRATIONS, TEMPLATE, withDatabase } from './database.ts'
import { makeScratch, removeScratch } from './scratch.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    /** A directory for whatever tests make: see `scratch.ts`. */
    scratch: string
  }
}

/**
 * Tests kill processes, not the power: they need no fsync to see what survives. Several files start several nodes each
 * on this one server, and a node opens up to thirty connections.
 */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_wal_size: '256MB',
  max_connections: '800',
  scram_iterations: '1',
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Unit tests need no build, so a developer who repeats one does not wait for it.
  if (project.vitest.state.getPaths().some((path) => path.startsWith(`${project.config.root}/test/`)))
    await ensureBuilt()
  const external = process.env['BELFRY_TEST_DATABASE_URL']
  const scratch = makeScratch()
  project.provide('scratch', scratch)
  const server = external
    ? null
    : await startEmbeddedPostgres({ dataDir: join(scratch, 'shared'), settings: SETTINGS })
  const url = external ?? (server?.connectionString as string)
  if (!external) await hashPasswordAgain(url)
  await makeTemplate(url)
  project.provide('postgresUrl', url)
  return async () => {
    await server?.stop()
    removeScratch(scratch)
  }
}

/**
 * Tests open thousands of connections, each of which would hash the password 4,096 times; the password is random, so the
 * iterations add no security.
 */
async function hashPasswordAgain(url: string): Promise<void> {
  const { user, password } = new Client({ connectionString: url })
  const admin = open(url)
  await admin.run({
    text: `alter role ${escapeIdentifier(user ?? '')} password ${escapeLiteral(password ?? '')}`,
    values: [],
  })
  await admin.close()
}

async function makeTemplate(url: string): Promise<void> {
  const admin = open(url)
  await admin.run({ text: `drop database if exists ${TEMPLATE}`, values: [] })
  await admin.run({ text: `create database ${TEMPLATE}`, values: [] })
  await admin.close()
  const template = open(withDatabase(url, TEMPLATE))
  await migrate(template, await readMigrations(MIGRATIONS))
  await template.close()
}

const open = (url: string) =>
  new Database({ url, applicationName: 'belfry test set-up', maxConnections: 2, statementTimeoutMs: 30_000 })
