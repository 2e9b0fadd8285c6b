/**
 * Determines the user that the database runs as. PostgreSQL refuses to run as root, so if Belfry runs as root, the server gets
 * another user: the one named by `--run-as`, else the owner of existing data, else an existing unprivileged user. Belfry never
 * creates a user.
 */

import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { EmbeddedPostgresError } from './errors.ts'
import type { Rights } from './rights.ts'

/** The user that the server runs as; null in place of an identity means the user of this process. */
export interface Identity extends Rights {
  readonly name: string
}

/** In order of preference; the first is for packages that create a dedicated user. */
const SUITABLE_USERS = ['belfry', 'nobody', 'postgres']
const NOBODY: Identity = { name: 'nobody', uid: 65_534, gid: 65_534 }

/** Whether many unrelated programs run as this user and could read its files. */
export const isShared = ({ name, uid }: Identity) => name === NOBODY.name || uid === NOBODY.uid

/** `owner` is the owner of existing data, or of the directory it will go to. */
export function identityToRunAs(owner: Rights | null, named: string | null): Identity | null {
  if (process.getuid?.() !== 0) return named === null ? null : ourselves(named)
  const users = usersOf(readPasswd())
  if (named !== null) return userNamed(named, users)
  if (owner !== null && owner.uid !== 0) return userWith(owner, users)
  for (const name of SUITABLE_USERS) {
    const user = users.find((candidate) => candidate.name === name)
    if (user !== undefined && user.uid !== 0) return user
  }
  return NOBODY
}

/**
 * Returns the owner of a directory, with the name and group known to the system; null if the owner is root or this process is
 * not root.
 */
export function ownerOf({ uid, gid }: Rights): Identity | null {
  return process.getuid?.() !== 0 || uid === 0 ? null : userWith({ uid, gid }, usersOf(readPasswd()))
}

function userWith({ uid, gid }: Rights, users: readonly Identity[]): Identity {
  return users.find((user) => user.uid === uid) ?? { name: String(uid), uid, gid }
}

/** Finds a user by name, by uid, or by uid and gid for users that only a directory service knows. */
function userNamed(text: string, users: readonly Identity[]): Identity {
  const [, uid, gid] = /^(\d{1,9})(?::(\d{1,9}))?$/.exec(text) ?? []
  const known =
    uid === undefined
      ? users.find(({ name }) => name === text)
      : userWith({ uid: Number(uid), gid: Number(gid ?? uid) }, users)
  const user = known && gid !== undefined ? { ...known, gid: Number(gid) } : known
  if (user === undefined)
    throw unusable(
      `The user '${text}' does not exist in /etc/passwd.`,
      'Create it, or give --run-as a uid such as 999 or 999:999.',
    )
  if (user.uid === 0)
    throw unusable('PostgreSQL refuses to run as root.', 'Use --run-as to name an unprivileged user.')
  return user
}

/** Only root can run the server as another user. Naming the current user is allowed. */
function ourselves(named: string): null {
  const uid = process.getuid?.()
  if (uid === undefined)
    throw unusable('--run-as is not supported on this system.', 'Start without --run-as.')
  const isUs =
    String(uid) === named || usersOf(readPasswd()).some((user) => user.name === named && user.uid === uid)
  if (isUs) return null
  throw unusable(
    `Only root can run the database as '${named}'.`,
    'Start Belfry as root, or as that user without --run-as.',
  )
}

const unusable = (message: string, hint: string) => new EmbeddedPostgresError('unusable_user', message, hint)

export function usersOf(passwd: string): Identity[] {
  return passwd.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

/** Returns the first directory on the way to `path`, including itself, that `identity` cannot pass; null if there is none. */
export function firstImpassable(path: string, identity: Identity): string | null {
  return stepsTo(realpathSync(path)).find((dir) => !mayEnter(statSync(dir), identity)) ?? null
}

/** Returns every directory from the root to a path, including itself. */
export function stepsTo(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [...stepsTo(parent), path]
}

/** Spawning with a uid drops all supplementary groups, so only the mode bits for owner, group and others count. */
function mayEnter(stat: Stats, { uid, gid }: Identity): boolean {
  const shift = stat.uid === uid ? 6 : stat.gid === gid ? 3 : 0
  return ((stat.mode >> shift) & 1) === 1
}

function readPasswd(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8')
  } catch {
    return ''
  }
}
