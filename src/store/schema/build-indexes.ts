/**
 * Builds indexes of tables in use, and drops those that they replace. Building one in a transaction with other changes blocks
 * writers until all of them are done, for seconds on a large table, so a migration may use `create index concurrently` instead:
 * PostgreSQL then builds the index without blocking writers, which it allows only outside a transaction. Such a migration
 * contains only such statements, and `drop index concurrently`.
 */
import type { Database, Queryable } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { buildIndex, type Index } from './build-index.ts'
import { type Migration, noteApplied } from './migration.ts'

export const isBuiltAside = ({ text }: Migration): boolean => /\bconcurrently\b/.test(text)

/**
 * Builds the missing indexes and returns their migrations; none if another node is already building. No node waits for the
 * lock, because PostgreSQL waits for every open transaction, including one that waits for a lock, before it completes an index.
 */
export function buildIndexes(db: Database, migrations: readonly Migration[]): Promise<Migration[]> {
  return db.transaction(async (tx) => {
    await tx.run(sql`set local idle_in_transaction_session_timeout = 0`)
    const [lock] = await tx.run(sql<{ isOurs: boolean }>`
      select pg_try_advisory_xact_lock(hashtext('belfry.build-indexes')) as "isOurs"`)
    const missing = lock?.isOurs ? await stillMissing(tx, migrations) : []
    for (const migration of missing) {
      for (const step of stepsOf(migration)) {
        if ('definition' in step) await buildIndex(db, step)
        else await db.runAlone(step.statement)
      }
      await db.run(noteApplied(migration))
    }
    return missing
  })
}

async function stillMissing(tx: Queryable, migrations: readonly Migration[]): Promise<Migration[]> {
  const done = await tx.run(sql<{ number: number }>`select number from migration`)
  return migrations.filter(({ number }) => !done.some((row) => row.number === number))
}

const BUILDS_AN_INDEX = /^create (?:unique )?index concurrently if not exists (\w+) on (\w+) (.+)$/s
const DROPS_AN_INDEX = /^drop index concurrently if exists \w+$/

function stepsOf({ number, text }: Migration): (Index | Pick<Index, 'statement'>)[] {
  const statements = text.replaceAll(/^--.*$/gm, '').split(';')
  return statements
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
    .map((statement) => {
      if (DROPS_AN_INDEX.test(statement)) return { statement }
      const [, name, table, definition] = BUILDS_AN_INDEX.exec(statement) ?? []
      if (name === undefined || table === undefined || definition === undefined)
        throw new Error(
          `Migration ${number} builds indexes concurrently, so each of its statements must begin with 'create index concurrently if not exists' or 'drop index concurrently if exists': ${statement}`,
        )
      return { name, table, definition, statement }
    })
}
