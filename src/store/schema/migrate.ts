/**
 * Updates a database to the schema of this release. Migrations are plain SQL files, applied in the order of their numbers, all
 * missing ones in one transaction together with the record that they were applied. Nodes that start at the same time wait for
 * an advisory lock, so each migration runs once and no node sees a partial schema. Indexes that are built concurrently follow
 * afterwards.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database, Queryable } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { ensurePartitions } from '../history/partitions.ts'
import { limitLocks, withBriefLocks } from './brief-locks.ts'
import { buildIndexes, isBuiltAside } from './build-indexes.ts'
import { readOldestMigration, tooOldSentence } from './compatibility.ts'
import { type Migration, noteApplied } from './migration.ts'

export type { Migration }

/** A schema that this release cannot work with, and what to do about it. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

const FILE_NAME = /^(\d{4})_([a-z0-9_]+)\.sql$/

export async function readMigrations(directory: string): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => FILE_NAME.test(file)).sort()
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(directory, file), 'utf8')
      const [, number, name] = FILE_NAME.exec(file) ?? []
      return {
        number: Number(number),
        name: name ?? file,
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
      }
    }),
  )
}

const WAITING =
  'the migrations wait for long queries or transactions of others that use the same tables; see pg_stat_activity'

/**
 * Applies the missing migrations and returns them. A database that a newer release has updated is used as it is, as long as it
 * admits builds of this age. `onWait` is called if the migrations have to wait for others.
 */
export async function migrate(
  db: Database,
  migrations: readonly Migration[],
  onWait: (text: string) => void = () => {},
): Promise<Migration[]> {
  const { together, aside } = await withBriefLocks(
    db,
    (tx, lockTimeoutMs) => applyMissing(tx, { migrations, lockTimeoutMs }),
    () => onWait(WAITING),
  )
  await db.run(ensurePartitions())
  return aside.length === 0 ? together : [...together, ...(await buildIndexes(db, aside))]
}

/** Applies the missing migrations apart from those that are built aside. Other nodes are waited for; then each lock only briefly. */
async function applyMissing(
  tx: Queryable,
  { migrations, lockTimeoutMs }: { migrations: readonly Migration[]; lockTimeoutMs: number },
): Promise<{ together: Migration[]; aside: Migration[] }> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtext('belfry.migrate'))`)
  await limitLocks(tx, lockTimeoutMs)
  await tx.run(sql`
    create table if not exists migration (
      number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`)
  const missing = await findMissing(tx, migrations)
  const together = missing.filter((migration) => !isBuiltAside(migration))
  for (const migration of together) await apply(tx, migration)
  return { together, aside: missing.filter(isBuiltAside) }
}

async function findMissing(tx: Queryable, migrations: readonly Migration[]): Promise<Migration[]> {
  const known = new Map(migrations.map((migration) => [migration.number, migration]))
  const done = await tx.run(
    sql<{
      number: number
      name: string
      checksum: string
    }>`select number, name, checksum from migration order by number`,
  )
  const last = Math.max(0, ...known.keys())
  if (done.some(({ number }) => number > last)) await refuseTooOld(tx, last)
  for (const { number, name, checksum } of done) {
    const migration = known.get(number)
    if (migration !== undefined && migration.checksum !== checksum) {
      throw new MigrationError(
        `Migration ${number} (${name}) was modified after it was applied to this database. Restore the original file, or use a new database.`,
      )
    }
  }
  const numbers = new Set(done.map(({ number }) => number))
  return migrations.filter(({ number }) => !numbers.has(number))
}

async function refuseTooOld(tx: Queryable, known: number): Promise<void> {
  const [row] = await tx.run(readOldestMigration())
  if (row !== undefined && row.oldestMigration > known)
    throw new MigrationError(tooOldSentence({ known, oldest: row.oldestMigration }))
}

async function apply(tx: Queryable, migration: Migration): Promise<void> {
  await tx.run({ text: migration.text, values: [] })
  await tx.run(noteApplied(migration))
}
