import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { Database } from '../../src/store/database/database.ts'
import { whenDone } from './cleanup.ts'

export const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url))
export const TEMPLATE = 'belfry_template'

/** The same server, another database. */
export function withDatabase(url: string, name: string): string {
  const [before = '', query] = url.split('?')
  const path = `${before.slice(0, before.lastIndexOf('/'))}/${name}`
  return query === undefined ? path : `${path}?${query}`
}

const admin = () =>
  new Database({
    url: inject('postgresUrl'),
    applicationName: 'belfry test',
    maxConnections: 1,
    statementTimeoutMs: 30_000,
  })

/** A database of this test file's own, cloned from the migrated template (or empty), dropped at the end. */
export async function createTestDatabase({ empty = false } = {}): Promise<{ url: string; db: Database }> {
  const { url, drop } = await makeDatabase({ empty })
  const db = new Database({
    url,
    applicationName: 'belfry test',
    maxConnections: 10,
    statementTimeoutMs: 30_000,
  })
  whenDone(async () => {
    await db.close()
    await drop()
  })
  return { url, db }
}

/** Creates a database that the caller drops. */
export async function makeDatabase({ empty = false } = {}): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `belfry_${uuidv7().replaceAll('-', '')}`
  const server = admin()
  // Its files are copied as they are, and not page by page through the log.
  const made = empty ? '' : ` template ${TEMPLATE} strategy file_copy`
  await server.run({ text: `create database ${name}${made}`, values: [] })
  await server.close()
  return {
    url: withDatabase(inject('postgresUrl'), name),
    drop: async () => {
      const again = admin()
      await again.run({ text: `drop database if exists ${name} with (force)`, values: [] })
      await again.close()
    },
  }
}
