/**
 * Layout of a data directory, and checks whether it is usable.
 * - `belfry.json`: the owner of the directory (ownership.ts)
 * - `pg/`: the database itself, mode 0700, owned by the user that the server runs as
 * - `password`: password of the database's only role, mode 0600
 * - `socket/`: where the server listens, unless the path is too long for a socket
 * - `port`: the loopback port used instead
 * - `postgres.log`: log of the server; postgres.log.1 is the previous log
 * - `postgres-18.4…/`: a copy of the binaries, if the installed ones cannot be used in place
 *
 * Opening a directory never writes to `pg/`, and anything there that looks like data is never overwritten by initdb.
 */

import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import envPaths from 'env-paths'
import { writeDurably } from './durable-files.ts'
import { describeFileError, EmbeddedPostgresError, errnoOf } from './errors.ts'
import { type Identity, identityToRunAs, ownerOf } from './identity.ts'
import { checkPassable, checkSame, checkTrusted, makeDirectory } from './make-directory.ts'
import { withRightsOf } from './rights.ts'

/** A data directory that has been checked: its paths, and the users involved. */
export interface DataDirectory {
  readonly root: string
  readonly pg: string
  readonly password: string
  readonly log: string
  readonly port: string
  /** Null if the path of a socket would be too long or the system has no Unix sockets; a loopback port is used instead. */
  readonly socketDir: string | null
  /**
   * Owner of the directory if this process is root and the owner is not: files in the directory are accessed with the owner's
   * privileges.
   */
  readonly owner: Identity | null
  /** User that the server runs as; null if it is the user of this process. */
  readonly identity: Identity | null
  readonly hasDatabase: boolean
}

/** Linux allows 108 bytes and macOS 104, with a zero at the end. */
const MAX_SOCKET_PATH_BYTES = 100
export const SOCKET_PORT = 5432

export function defaultDataDir(): string {
  return process.getuid?.() === 0 ? '/var/lib/belfry' : envPaths('belfry', { suffix: '' }).data
}

/** Makes the directory if need be and checks everything that can be checked before it is claimed. */
export function openDataDirectory(
  dataDir: string,
  { major, runAs = null }: { major: number; runAs?: string | null },
): DataDirectory {
  try {
    return open(resolve(dataDir), major, runAs)
  } catch (error) {
    throw describeFileError(error, dataDir)
  }
}

function open(path: string, major: number, runAs: string | null): DataDirectory {
  makeDirectory(path, runAs)
  const root = realpathSync(path)
  const pg = join(root, 'pg')
  const owner = ownerOf(statSync(root))
  const hasDatabase = withRightsOf(owner, () => existsSync(pg))
  const identity = identityToRunAs(statSync(hasDatabase ? pg : root), runAs)
  if (identity !== null) {
    checkSame(owner, identity, root)
    checkTrusted(path, owner, identity)
    checkPassable(root, identity, root)
  }
  if (hasDatabase) checkOwner(pg, identity)
  withRightsOf(owner ?? identity, () => checkContent(root, hasDatabase, major))

  return {
    root,
    pg,
    password: join(root, 'password'),
    log: join(root, 'postgres.log'),
    port: join(root, 'port'),
    socketDir: socketDirIn(root),
    owner,
    identity,
    hasDatabase,
  }
}

function checkContent(root: string, hasDatabase: boolean, major: number): void {
  if (existsSync(join(root, 'PG_VERSION')))
    throw unrecognised(root, 'contains a PostgreSQL database that Belfry did not create')
  if (hasDatabase) checkMajor(join(root, 'pg'), major)
}

/** Returns the password of the database's role; generates one if there is no database yet. */
export function readOrCreatePassword({ root, password, owner, hasDatabase }: DataDirectory): string {
  try {
    return withRightsOf(owner, () => readFileSync(password, 'utf8').trim())
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw describeFileError(error, root)
  }
  if (hasDatabase) {
    throw new EmbeddedPostgresError(
      'password_missing',
      `${password}, the password file of the embedded database, is missing.`,
      'Restore that file from a backup.',
    )
  }
  const secret = randomBytes(24).toString('base64url')
  withRightsOf(owner, () => writeDurably(password, `${secret}\n`))
  return secret
}

function checkOwner(pg: string, identity: Identity | null): void {
  const { uid } = statSync(pg)
  if (process.getuid === undefined || uid === (identity?.uid ?? process.getuid())) return
  throw new EmbeddedPostgresError(
    'data_dir_unwritable',
    `The database in ${dirname(pg)} belongs to another user (uid ${uid}).`,
    identity === null
      ? 'Start Belfry as that user, or use --data-dir DIR.'
      : `Change its owner to '${identity.name}', the user that the database runs as: chown -R ${identity.name} ${pg}`,
  )
}

function checkMajor(pg: string, major: number): void {
  let text: string
  try {
    text = readFileSync(join(pg, 'PG_VERSION'), 'utf8').trim()
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    throw unrecognised(pg, 'exists but does not contain a database')
  }
  const found = Number.parseInt(text, 10)
  if (found === major) return
  if (found < major) {
    throw new EmbeddedPostgresError(
      'older_major',
      `This data was written by PostgreSQL ${found}, but this release includes PostgreSQL ${major}.`,
      'Use the older release of Belfry that wrote it, or use --data-dir DIR.',
    )
  }
  throw new EmbeddedPostgresError(
    'newer_major',
    `This data was written by PostgreSQL ${found}, but this release includes PostgreSQL ${major}.`,
    'Use the newer release of Belfry that wrote it, or use --data-dir DIR.',
  )
}

function unrecognised(path: string, what: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'data_dir_unrecognised',
    `${path} ${what}. Belfry did not change it.`,
    'Move it elsewhere, or use --data-dir DIR.',
  )
}

export function socketIn(socketDir: string): string {
  return join(socketDir, `.s.PGSQL.${SOCKET_PORT}`)
}

function socketDirIn(root: string): string | null {
  if (process.platform === 'win32') return null
  const socketDir = join(root, 'socket')
  return Buffer.byteLength(socketIn(socketDir)) < MAX_SOCKET_PATH_BYTES ? socketDir : null
}
