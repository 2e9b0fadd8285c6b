/** Builds one index of a table in use, without blocking writers. */
import type { Database } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { limitLocks, withBriefLocks } from './brief-locks.ts'

/** An index as its migration defines it: `definition` follows the name of the table. */
export interface Index {
  readonly name: string
  readonly table: string
  readonly definition: string
  readonly statement: string
}

export async function buildIndex(db: Database, index: Index): Promise<void> {
  const [table] = await db.run(sql<{ isPartitioned: boolean }>`
    select relkind = 'p' as "isPartitioned" from pg_class where oid = to_regclass(${index.table})`)
  if (table?.isPartitioned) await buildOnPartitions(db, index)
  else await buildAlone(db, index)
}

/** An earlier build that was interrupted leaves an invalid index, which is dropped first. */
async function buildAlone(
  db: Database,
  { name, statement }: Pick<Index, 'name' | 'statement'>,
): Promise<void> {
  const [found] = await db.run(sql<{ isValid: boolean }>`
    select indisvalid as "isValid" from pg_index where indexrelid = to_regclass(${name})`)
  if (found?.isValid === false) await db.runAlone(`drop index concurrently ${name}`)
  await db.runAlone(statement)
}

/**
 * PostgreSQL builds no index of a partitioned table concurrently, but that of a single partition. So the index is created without
 * its partitions, which takes no time; then each partition gets one of its own, which is attached. With the last one the index
 * becomes valid. Partitions that are added in the meantime get theirs from PostgreSQL. The latest partition is attached last: retention
 * drops the oldest, and if one were dropped that is still to be attached, nothing would make the index valid.
 */
async function buildOnPartitions(db: Database, { name, table, definition }: Index): Promise<void> {
  await change(db, `create index if not exists ${name} on only ${table} ${definition}`)
  const [latest, ...others] = await partitionsWithout(db, { name, table })
  for (const partition of latest === undefined ? [] : [...others, latest]) {
    const part = `${partition}_${name}`
    const statement = `create index concurrently if not exists ${part} on ${partition} ${definition}`
    try {
      await buildAlone(db, { name: part, statement })
      await change(db, `alter index ${name} attach partition ${part}`)
    } catch (error) {
      // Retention may have dropped the partition in the meantime.
      if (await exists(db, partition)) throw error
    }
  }
}

/** Runs a statement that takes no time, but locks out others who use the table. */
const change = (db: Database, text: string): Promise<unknown> =>
  withBriefLocks(db, async (tx, lockTimeoutMs) => {
    await limitLocks(tx, lockTimeoutMs)
    await tx.run({ text, values: [] })
  })

/** Returns the partitions without an attached index, latest first. */
async function partitionsWithout(
  db: Database,
  { name, table }: Pick<Index, 'name' | 'table'>,
): Promise<string[]> {
  const rows = await db.run(sql<{ partition: string }>`
    select p.relname as partition
    from pg_inherits i join pg_class p on p.oid = i.inhrelid
    where i.inhparent = to_regclass(${table}) and not exists (
      select from pg_index x join pg_inherits a on a.inhrelid = x.indexrelid
      where x.indrelid = p.oid and a.inhparent = to_regclass(${name}))
    order by p.relname desc`)
  return rows.map(({ partition }) => partition)
}

async function exists(db: Database, table: string): Promise<boolean> {
  const [row] = await db.run(sql<{ exists: boolean }>`select to_regclass(${table}) is not null as "exists"`)
  return row?.exists === true
}
