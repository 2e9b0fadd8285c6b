/** Opens the configured database, embedded or external, and migrates it to this release's schema. */
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
  /** Null if the database is external. */
  readonly embedded: EmbeddedPostgres | null
  /** PostgreSQL version, such as '18.4'. */
  readonly version: string
  /** Mode of a connection pooler in front of the database; null if there is none. */
  readonly pooler: Met['pooler']
  readonly applied: readonly Migration[]
  readonly migrations: number
  /** Number of the last migration in this build. */
  readonly lastMigration: number
  close(): Promise<void>
}

const OLDEST_MAJOR = 15

/** Returns the flags with which a command uses the same database; an address may contain a password, and is left out. */
export const databaseFlags = ({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): string =>
  databaseUrl !== null ? ' --database-url …' : dataDir === null ? '' : ` --data-dir ${dataDir}`

const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url))

export async function openDatabase(
  config: Config,
  onStep: (text: string) => void,
  onNote: (text: string) => void = onStep,
): Promise<OpenDatabase> {
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
    const applied = await migrate(db, migrations, onNote)
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

/** Like `openDatabase`, but also works while another process, such as a running node, uses the embedded database. */
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
 * Declares the previous owner's node dead. It crashed and its process is gone, so its runs can be reclaimed at once instead of
 * after the heartbeat timeout.
 */
async function buryPredecessor(db: Database, embedded: EmbeddedPostgres | null): Promise<void> {
  const nodeId = embedded?.owner.predecessor?.nodeId
  if (nodeId) await db.run(declareDead({ nodeId, beat: null, reason: 'lost' }))
}

/**
 * Rejects a pooler that shares sessions without the matching configuration: Belfry's session settings would be lost and leak to
 * other clients of the pooler, and no wake-up would arrive.
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

/** Returns the host (or the directory of the socket) and the database of a URL. Everything before the last @ may be secret. */
export function shownUrl(url: string): string {
  const [, host, database = '', query] = /^\w+:\/\/(?:.*@)?([^/?]*)\/?([^?]*)\??(.*)$/.exec(url) ?? []
  return `${host || new URLSearchParams(query).get('host') || 'localhost'}/${database}`
}

/** Abbreviates the home directory in a path to `~`. */
export function shownPath(path: string, home: string = homedir()): string {
  const inside = relative(home, path)
  const isInside = isAbsolute(home) && inside !== '' && !isAbsolute(inside) && inside.split(sep)[0] !== '..'
  return isInside ? join('~', inside) : path
}

/** Describes why a database cannot be used. Unrelated errors are returned unchanged. */
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

/**
 * Whether the database is down, unknown, unresponsive or has an untrusted certificate: errors of Node.js have a code but no
 * SQLSTATE.
 */
function isAboutReaching(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof CliError) return false
  return isUnavailable(error) || (sqlState(error) === undefined && 'code' in error) || 'errors' in error
}

/** If a connection was tried at several addresses, the error has one inner error for each address and no message. */
function reasonOf(error: Error): string {
  const inner = (error as { errors?: Error[] }).errors?.[0]
  return inner?.message ?? error.message
}
