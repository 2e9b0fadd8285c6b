/**
 * Creates the data directory and, as root, verifies that it is safe: only root and the owner of the data can replace it or
 * create files in it. If another user owns it, it is accessed only with that user's privileges.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { EmbeddedPostgresError } from './errors.ts'
import { firstImpassable, type Identity, identityToRunAs, ownerOf, stepsTo } from './identity.ts'
import { withRightsOf } from './rights.ts'

const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000

/**
 * Creates a directory and its missing parents, one at a time: with `recursive`, Node.js reports ENOENT on a read-only file
 * system. Below a user's directory, the new directories belong to that user. Directories that root creates for itself can be
 * passed by others but not listed; nothing is created in a place that the server's user cannot reach.
 */
export function makeDirectory(path: string, runAs: string | null): void {
  const missing: string[] = []
  let existing = path
  for (; !existsSync(existing); existing = dirname(existing)) missing.unshift(existing)
  const found = statSync(existing)
  if (!found.isDirectory()) throw fileInTheWay(existing)
  if (missing.length === 0) return
  const owner = ownerOf(found)
  const identity = identityToRunAs(owner, runAs)
  if (identity !== null) {
    checkSame(owner, identity, existing)
    checkPassable(existing, identity, path)
  }
  withRightsOf(owner, () => {
    for (const dir of missing) {
      mkdirSync(dir, { mode: 0o700 })
      if (identity !== null && owner === null) chmodSync(dir, 0o711)
    }
  })
}

/** Rejects a directory that belongs to a user other than the one the server will run as. */
export function checkSame(owner: Identity | null, identity: Identity, dir: string): void {
  if (owner === null || owner.uid === identity.uid) return
  throw new EmbeddedPostgresError(
    'unusable_user',
    `${dir} belongs to user '${owner.name}', but the database runs as '${identity.name}'.`,
    `Use --run-as ${owner.name}, or change the owner of the directory to '${identity.name}' or root (chown -R).`,
  )
}

/** As root, verifies that only root and the owner can change the directories on the path and the content of the directory. */
export function checkTrusted(path: string, owner: Identity | null, identity: Identity): void {
  const root = realpathSync(path)
  for (const dir of new Set([...stepsTo(path), ...stepsTo(root)])) {
    const stranger = ownerOf(lstatSync(dir))
    if (stranger !== null && stranger.uid !== owner?.uid) throw replaceable(root, dir, stranger)
  }
  if (owner === null) closeToOthers(root, identity)
}

/** Allows the server to pass root's own directory, and prevents all other users from writing to it. */
function closeToOthers(root: string, identity: Identity): void {
  const { mode } = statSync(root)
  const isOpen = (mode & WRITABLE_BY_OTHERS) !== 0
  if (isOpen && (!isEmptyOrOurs(root) || (mode & STICKY) !== 0)) throw openToOthers(root)
  if (isOpen) chmodSync(root, mode & ~WRITABLE_BY_OTHERS & 0o7777)
  const planted = isOpen ? readdirSync(root).find((name) => isPlanted(join(root, name), identity)) : undefined
  if (planted !== undefined) throw openToOthers(root, planted)
  if (firstImpassable(root, identity) === root && isEmptyOrOurs(root))
    chmodSync(root, (statSync(root).mode & 0o7777) | 0o011)
  checkPassable(root, identity, root)
}

function isPlanted(path: string, { uid }: Identity): boolean {
  const found = lstatSync(path)
  return found.isSymbolicLink() || (found.isFile() && found.nlink > 1) || ![0, uid].includes(found.uid)
}

function isEmptyOrOurs(root: string): boolean {
  const names = readdirSync(root)
  return names.length === 0 || names.includes('belfry.json') || names.includes('password')
}

export function checkPassable(path: string, identity: Identity, goal: string): void {
  const wall = firstImpassable(path, identity)
  if (wall === null) return
  throw new EmbeddedPostgresError(
    'unreachable_directory',
    `As root, Belfry runs the database as user '${identity.name}', who cannot reach ${goal} because of the permissions of ${wall}.`,
    `Use --data-dir with another directory such as /var/lib/belfry, or allow access: chmod o+x ${wall}`,
  )
}

function replaceable(root: string, dir: string, { name }: Identity): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'unsafe_directory',
    `As root, Belfry does not use ${root}: ${dir} belongs to user '${name}', who could replace it.`,
    `Change the owner of the data to that user too (chown -R ${name} ${root}), or use --data-dir with another directory such as /var/lib/belfry.`,
  )
}

function openToOthers(root: string, planted?: string): EmbeddedPostgresError {
  const why = planted === undefined ? '' : `, and another user may have created '${planted}'`
  return new EmbeddedPostgresError(
    'unsafe_directory',
    `As root, Belfry does not use ${root}: other users can write to it${why}.`,
    `Remove their write access (chmod go-w ${root}), or use --data-dir with another directory such as /var/lib/belfry.`,
  )
}

function fileInTheWay(path: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'data_dir_unwritable',
    `Cannot write ${path}: a file is in the way of the directory.`,
    'Use --data-dir DIR.',
  )
}
