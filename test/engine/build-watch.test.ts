import { expect, test } from 'vitest'
import { BuildWatch } from '../../src/liveness/build-watch.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { createTestDatabase } from '../support/database.ts'

test('a node whose release is too old for the database schema is notified, and a supported one is not', async () => {
  const { db } = await createTestDatabase()
  const reasons: string[] = []
  const watch = new BuildWatch({
    db,
    log: silentLogger(),
    lastMigration: 40,
    onTooOld: (reason) => reasons.push(reason),
  })

  await watch.runOnce()
  await db.run(sql`update compatibility set oldest_migration = 40`)
  await watch.runOnce()
  expect(reasons).toEqual([])
  await db.run(sql`update compatibility set oldest_migration = 41`)
  await watch.runOnce()

  expect(reasons).toEqual([
    'The schema of this database is newer than this release: it requires migration 41, and this release includes migrations up to 40. Install a newer release.',
  ])
})
