/** The database under measurement: one new server with the durable settings that the product itself uses. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/embedded/server.ts'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { migrate, readMigrations } from '../../src/store/schema/migrate.ts'
import { onCleanup } from './cleanup.ts'
import type { Subject } from './measure.ts'
import { ROOT } from './root.ts'
import { areStatementsWanted, COUNTING, printStatements, resetStatements } from './statements.ts'

export interface Server {
  readonly pid: number
  readonly version: string
  /** Creates an empty database; an existing database of that name is dropped. */
  create(name: string): Promise<BenchDatabase>
}

export interface BenchDatabase {
  readonly url: string
  /** A single connection, so that the cost of the benchmark itself can be subtracted. */
  readonly db: Database
  /** What to measure when these processes work on this database. */
  subject(pids: readonly number[]): Promise<Subject>
  drop(): Promise<void>
}

/** Setting up a million tasks is one long statement after another. */
const STATEMENT_TIMEOUT_MS = 600_000

/**
 * A server that has been in use recycles its WAL files. A new server creates and syncs a file of 16 MiB each time, and every
 * commit waits for that, up to a sixth of a second, which no benchmark here is meant to measure.
 */
const SEGMENTS = 32
const NEXT_SEGMENT = "select pg_logical_emit_message(false, 'belfry', 'next'), pg_switch_wal()"

export async function startPostgres(): Promise<Server> {
  const dataDir = mkdtempSync(join(tmpdir(), 'belfry-bench-'))
  onCleanup(() => rmSync(dataDir, { recursive: true, force: true }))
  const server = await startEmbeddedPostgres({ dataDir, settings: areStatementsWanted() ? COUNTING : {} })
  onCleanup(() => server.stop())
  const urlOf = (name: string) => server.connectionString.replace(/\/belfry(?=\?|$)/, `/${name}`)

  const administer = async (...statements: readonly string[]) => {
    const client = new pg.Client({ connectionString: urlOf('postgres') })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }
  await administer(...Array(SEGMENTS).fill(NEXT_SEGMENT), 'checkpoint')
  return {
    pid: server.pid,
    version: server.version,
    create: async (name) => {
      await administer(`drop database if exists "${name}" with (force)`, `create database "${name}"`)
      const url = urlOf(name)
      const db = connect(url, 1)
      const close = onCleanup(() => db.close())
      return {
        url,
        db,
        subject: async (pids) => ({
          serverPid: server.pid,
          pids,
          ownBackends: (await db.run(sql<{ pid: number }>`select pg_backend_pid() as pid`)).map(
            ({ pid }) => pid,
          ),
          wal: () => walPosition(db),
          statements: areStatementsWanted()
            ? { reset: () => resetStatements(db), print: () => printStatements(db) }
            : null,
        }),
        drop: async () => {
          await close()
          await administer(`drop database if exists "${name}" with (force)`)
        },
      }
    },
  }
}

/** A new database with the product's tables. */
export async function createBelfryDatabase(server: Server, name: string): Promise<BenchDatabase> {
  const database = await server.create(name)
  // A migration that builds indexes holds one connection and builds by another.
  const migrating = connect(database.url, 2)
  await migrate(migrating, await readMigrations(join(ROOT, 'migrations')))
  await migrating.close()
  return database
}

export function connect(url: string, maxConnections: number): Database {
  return new Database({
    url,
    applicationName: 'belfry bench',
    maxConnections,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    // Queries for the work that is left must not read whole tables, whatever size the planner assumes.
    favourIndexes: true,
  })
}

async function walPosition(db: Database): Promise<number> {
  const [row] = await db.run(
    sql<{ bytes: string }>`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as bytes`,
  )
  return Number(row?.bytes)
}

/**
 * Call before a database is filled: a page's first change after a checkpoint is written to the WAL as a whole page, which is a
 * cost of filling and not of what is measured afterwards.
 */
export async function checkpoint(db: Database): Promise<void> {
  await db.run(sql`checkpoint`)
}

/** Call after a database is filled: leaves autovacuum nothing to do during the measurement. */
export async function vacuum(db: Database): Promise<void> {
  await db.run(sql`vacuum analyze`)
}
