/** Opens the database that the configuration names, embedded or external, brought to this release's schema. */
import { homedir } from 'node:os'
import { isAbsolute, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  defaultDataDir,
  type EmbeddedPostgres,
  EmbeddedPostgresError,
  runningConnection,
  startEmbeddedPostgres,
} from '../embedded/server.ts'
import { REQUEST_TIMEOUT_MS, sharesOf } from '../node/connections.ts'
import type { Pooling } from '../runtime/config/choices.ts'
import type { Config } from '../runtime/config/settings.ts'
import { Database, isUnavailable, sqlState } from '../store/database/database.ts'
import { troubleOf } from '../store/database/database-trouble.ts'
import { type Met, meet } from '../store/database/pooling.ts'
import { declareDead } from '../store/nodes/nodes.ts'
import { type Migration, migrate, readMigrations } from '../store/schema/migrate.ts'
import { CliError, EXIT } from './exit.ts'

/** A database in use, with the schema of this release. */
export interface OpenDatabase {
  readonly url: string
  readonly db: Database
  /** Null when the database is an external one. */
  readonly embedded: EmbeddedPostgres | null
  /** Such as '18.4'. */
  readonly version: string
  /** What a pooler in front of it shares; null without one. */
  readonly pooler: Met['pooler']
  readonly applied: readonly Migration[]
  readonly migrations: number
  /** The last migration that this build knows. */
  readonly lastMigration: number
  close(): Promise<void>
}

const OLDEST_MAJOR = 15

const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url))

export async function openDatabase(config: Config, onStep: (text: string) => void): Promise<OpenDatabase> {
  const embedded =
    config.databaseUrl === null
      ? await startEmbeddedPostgres({
          dataDir: config.dataDir ?? defaultDataDir(),
          runAs: config.runAs,
          onStep,
        })
      : null
  const url = embedded?.connectionString ?? (config.databaseUrl as string)
  let db: Database | undefined
  const close = async () => {
    await db?.close()
    await embedded?.stop()
  }
  try {
    const met = await meet(url)
    refuseOld(met.version)
    refusePooler(met, config.databasePooling, url)
    db = new Database({
      url,
      applicationName: 'belfry',
      maxConnections: sharesOf(config).requests,
      statementTimeoutMs: REQUEST_TIMEOUT_MS,
      pooling: config.databasePooling,
    })
    const migrations = await readMigrations(MIGRATIONS)
    const applied = await migrate(db, migrations)
    await buryPredecessor(db, embedded)
    return {
      url,
      db,
      embedded,
      ...met,
      applied,
      migrations: migrations.length,
      lastMigration: migrations.at(-1)?.number ?? 0,
      close,
    }
  } catch (error) {
    await close().catch(() => {})
    throw describeFailure(error, url)
  }
}

/** The same also while another process, such as a running node, has the embedded database. */
export async function openSharedDatabase(config: Config): Promise<OpenDatabase> {
  try {
    return await openDatabase(config, () => {})
  } catch (error) {
    if (!(error instanceof EmbeddedPostgresError) || !error.holder) throw error
    const dataDir = config.dataDir ?? defaultDataDir()
    const databaseUrl = await runningConnection({ dataDir, runAs: config.runAs })
    if (databaseUrl === null) throw error
    return openDatabase({ ...config, databaseUrl, databasePooling: 'session' }, () => {})
  }
}

/**
 * The Belfry that had this data before us crashed: its process is gone, so its node is dead, and its runs
 * need not wait until its silence has lasted long enough to be sure.
 */
async function buryPredecessor(db: Database, embedded: EmbeddedPostgres | null): Promise<void> {
  const nodeId = embedded?.owner.predecessor?.nodeId
  if (nodeId) await db.run(declareDead({ nodeId, beat: null, reason: 'lost' }))
}

/**
 * Goes no further when sessions are shared and Belfry was not told: its settings would come and go, other users of
 * the pooler would find them, and no wake-up would be heard.
 */
export function refusePooler({ pooler }: Met, pooling: Pooling, url: string): void {
  if (pooler === 'statement')
    throw new CliError(
      `The pooler at ${shownUrl(url)} is in statement mode, which does not support transactions.`,
      'Set its pool_mode to transaction and start with --database-pooling transaction.',
      EXIT.usage,
    )
  if (pooler === 'transaction' && pooling === 'session')
    throw new CliError(
      `The pooler at ${shownUrl(url)} is in transaction mode, but --database-pooling is session.`,
      'Start with --database-pooling transaction, or connect to PostgreSQL directly with --database-url.',
      EXIT.usage,
    )
}

function refuseOld(version: string): void {
  if (Number.parseInt(version, 10) >= OLDEST_MAJOR) return
  throw new CliError(
    `The database is PostgreSQL ${version}; Belfry requires ${OLDEST_MAJOR} or newer.`,
    'Upgrade it, or start without --database-url to use the embedded one.',
  )
}

/** Host, or directory of the socket, and database of an address. Whatever is before the last @ may be secret. */
export function shownUrl(url: string): string {
  const [, host, database = '', query] = /^\w+:\/\/(?:.*@)?([^/?]*)\/?([^?]*)\??(.*)$/.exec(url) ?? []
  return `${host || new URLSearchParams(query).get('host') || 'localhost'}/${database}`
}

/** A path as its owner writes it: what is below the home directory begins there. */
export function shownPath(path: string, home: string = homedir()): string {
  const inside = relative(home, path)
  const isInside = isAbsolute(home) && inside !== '' && !isAbsolute(inside) && inside.split(sep)[0] !== '..'
  return isInside ? join('~', inside) : path
}

/** What keeps us from using a database, in words. Errors that are not about that come back as they were. */
export function describeFailure(error: unknown, url: string, flag = '--database-url'): unknown {
  const where = shownUrl(url)
  switch (sqlState(error)) {
    case '28P01':
    case '28000':
      return new CliError(
        `${where} rejects this user: ${(error as Error).message}.`,
        `Correct the user or password in ${flag}.`,
        EXIT.unauthorised,
      )
    case '3D000':
      return new CliError(
        `The database ${where} does not exist.`,
        `Create it (createdb), or correct ${flag}.`,
        EXIT.unreachable,
      )
    case '42501':
      return new CliError(
        `The user of ${where} is not allowed to create tables.`,
        'Grant it CREATE on the database and its schema.',
        EXIT.unauthorised,
      )
    default:
      return describeTrouble(error, { where, flag })
  }
}

function describeTrouble(error: unknown, { where, flag }: { where: string; flag: string }): unknown {
  const trouble = troubleOf(error)
  if (trouble && trouble.code !== 'unavailable')
    return new CliError(
      `${where} cannot be used. ${trouble.detail}`,
      'Fix this and start again.',
      EXIT.unreachable,
    )
  if (!isAboutReaching(error)) return error
  return new CliError(
    `Cannot connect to ${where} (${reasonOf(error)}).`,
    `Check that the database is running and that ${flag} is correct.`,
    EXIT.unreachable,
  )
}

/** Down, unknown, silent, or speaking TLS that we do not trust: Node's own errors have a code and no SQLSTATE. */
function isAboutReaching(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof CliError) return false
  return isUnavailable(error) || (sqlState(error) === undefined && 'code' in error) || 'errors' in error
}

/** A connection tried on several addresses fails with one error for each, and no message of its own. */
function reasonOf(error: Error): string {
  const inner = (error as { errors?: Error[] }).errors?.[0]
  return inner?.message ?? error.message
}
