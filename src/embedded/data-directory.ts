/**
 * What lies where in a data directory, and whether it is fit for use.
 *
 *     belfry.json      who holds the directory (ownership.ts)
 *     pg/              the database itself, mode 0700, owned by the user the server runs as
 *     password         of the database's only role, mode 0600
 *     socket/          where the server listens, unless the path is too long for a socket
 *     port             the loopback port used instead
 *     postgres.log     what the server says, and postgres.log.1, what it said before
 *     postgres-18.4…/  a copy of the binaries, when the installed ones cannot be used in place
 *
 * Opening one never writes to `pg/`, and whatever looks like data there is never initialised over.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import envPaths from 'env-paths'
import { describeFileError, EmbeddedPostgresError, errnoOf } from './errors.ts'
import { firstImpassable, type Identity, identityToRunAs } from './identity.ts'

/** A data directory that has been checked: its paths, and who may use it. */
export interface DataDirectory {
  readonly root: string
  readonly pg: string
  readonly password: string
  readonly log: string
  readonly port: string
  /** Null when a socket's path would be too long, or the system has none; then a loopback port is used. */
  readonly socketDir: string | null
  /** Who the server runs as, or null when it runs as we do. */
  readonly identity: Identity | null
  readonly hasDatabase: boolean
}

/** Linux allows 108 bytes and macOS 104, with a zero at the end. */
const MAX_SOCKET_PATH_BYTES = 100
export const SOCKET_PORT = 5432
/** Marks what is being made; anything with it is left over from a crash and may be deleted. */
const UNFINISHED = /\.new-[0-9a-f]{8}$/

export function defaultDataDir(): string {
  return process.getuid?.() === 0 ? '/var/lib/belfry' : envPaths('belfry', { suffix: '' }).data
}

/** Makes the directory if need be and checks everything that can be checked before it is claimed. */
export function openDataDirectory(dataDir: string, major: number): DataDirectory {
  try {
    return open(resolve(dataDir), major)
  } catch (error) {
    throw describeFileError(error, dataDir)
  }
}

function open(path: string, major: number): DataDirectory {
  makeDirectory(path)
  const root = realpathSync(path)
  const pg = join(root, 'pg')
  const hasDatabase = existsSync(pg)
  const identity = identityToRunAs(statSync(hasDatabase ? pg : root))
  if (identity !== null) letPass(root, identity)
  else if (hasDatabase) checkIsOurs(pg)
  if (existsSync(join(root, 'PG_VERSION')))
    throw unrecognised(root, "holds a PostgreSQL that is not Belfry's")
  if (hasDatabase) checkMajor(pg, major)

  return {
    root,
    pg,
    password: join(root, 'password'),
    log: join(root, 'postgres.log'),
    port: join(root, 'port'),
    socketDir: socketDirIn(root),
    identity,
    hasDatabase,
  }
}

/** The password of the database's role; made up when there is no database yet. */
export function readOrCreatePassword({ root, password, hasDatabase }: DataDirectory): string {
  try {
    return readFileSync(password, 'utf8').trim()
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw describeFileError(error, root)
  }
  if (hasDatabase) {
    throw new EmbeddedPostgresError(
      'password_missing',
      `${password} is gone, and with it the way into the database.`,
      'Restore that file from a backup.',
    )
  }
  const secret = randomBytes(24).toString('base64url')
  writeDurably(password, `${secret}\n`)
  return secret
}

/** Replaces a file of ours in one step that survives a power cut. Its owner is the directory's. */
export function writeDurably(path: string, text: string): void {
  const draft = unfinishedNameFor(path)
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true })
  giveToOwnerOf(dirname(path), draft)
  renameDurably(draft, path)
}

/** The rename is durable only once the directory itself is on disk. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to)
  if (process.platform === 'win32') return
  const directory = openSync(dirname(to), 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

export function unfinishedNameFor(path: string): string {
  return `${path}.new-${randomUUID().slice(0, 8)}`
}

/** Deletes what a crash left half made. Only the holder of the directory may call this. */
export function removeUnfinished(root: string): void {
  for (const name of readdirSync(root)) {
    if (UNFINISHED.test(name)) rmSync(join(root, name), { recursive: true, force: true })
  }
}

/** As root: what we write into another user's directory must stay usable for that user. */
export function giveToOwnerOf(dir: string, path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dir)
  if (uid !== 0) chownSync(path, uid, gid)
}

/**
 * Makes a directory and its missing parents, one at a time: asked for all at once, Node answers ENOENT
 * where the truth is a read-only file system. As root, others must be able to walk through what we make,
 * though not to list it; and nothing is made where they could not.
 */
function makeDirectory(path: string): void {
  const missing: string[] = []
  let existing = path
  for (; !existsSync(existing); existing = dirname(existing)) missing.unshift(existing)
  if (!statSync(existing).isDirectory()) throw fileInTheWay(existing)
  if (missing.length === 0) return
  const identity = identityToRunAs(null)
  if (identity !== null) checkPassable(existing, identity, path)
  for (const dir of missing) {
    mkdirSync(dir, { mode: 0o700 })
    if (identity !== null) chmodSync(dir, 0o711)
  }
}

function letPass(root: string, identity: Identity): void {
  if (firstImpassable(root, identity) === root && isEmptyOrOurs(root)) {
    chmodSync(root, statSync(root).mode | 0o011)
  }
  checkPassable(root, identity, root)
}

function checkPassable(path: string, identity: Identity, goal: string): void {
  const wall = firstImpassable(path, identity)
  if (wall === null) return
  throw new EmbeddedPostgresError(
    'unreachable_directory',
    `As root, Belfry runs the database as user '${identity.name}', who cannot pass ${wall} to reach ${goal}.`,
    `Use --data-dir with another directory such as /var/lib/belfry, or allow it: chmod o+x ${wall}`,
  )
}

function isEmptyOrOurs(root: string): boolean {
  const names = readdirSync(root)
  return names.length === 0 || names.includes('belfry.json') || names.includes('password')
}

function checkIsOurs(pg: string): void {
  const owner = statSync(pg).uid
  if (process.getuid === undefined || owner === process.getuid()) return
  throw new EmbeddedPostgresError(
    'data_dir_unwritable',
    `The database in ${dirname(pg)} belongs to another user (uid ${owner}).`,
    'Start Belfry as that user, or use --data-dir DIR.',
  )
}

function checkMajor(pg: string, major: number): void {
  let text: string
  try {
    text = readFileSync(join(pg, 'PG_VERSION'), 'utf8').trim()
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
    throw unrecognised(pg, 'exists but holds no database')
  }
  const found = Number.parseInt(text, 10)
  if (found === major) return
  if (found < major) {
    throw new EmbeddedPostgresError(
      'older_major',
      `This data was written by PostgreSQL ${found}, and this Belfry brings PostgreSQL ${major}.`,
      'Use the older Belfry that wrote it, or use --data-dir DIR.',
    )
  }
  throw new EmbeddedPostgresError(
    'newer_major',
    `This data was written by PostgreSQL ${text}, and this Belfry brings PostgreSQL ${major}.`,
    'Use the newer Belfry that wrote it, or use --data-dir DIR.',
  )
}

function fileInTheWay(path: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'data_dir_unwritable',
    `Cannot write ${path}: a file is in the way of the directory.`,
    'Use --data-dir DIR.',
  )
}

function unrecognised(path: string, what: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'data_dir_unrecognised',
    `${path} ${what}, so it was left alone.`,
    'Move it away, or use --data-dir DIR.',
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
