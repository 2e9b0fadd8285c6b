/**
 * Which user the database runs as. PostgreSQL refuses to run as root, so root lends it another identity:
 * the one that `--run-as` names, else the owner of the data when there is some, else an existing unprivileged user.
 * No user is ever created.
 */

import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { EmbeddedPostgresError } from './errors.ts'
import type { Rights } from './rights.ts'

/** The user the server runs as, or null when it simply runs as we do. */
export interface Identity extends Rights {
  readonly name: string
}

/** In order of preference; the first is for packagers who give Belfry a user of its own. */
const SUITABLE_USERS = ['belfry', 'nobody', 'postgres']
const NOBODY: Identity = { name: 'nobody', uid: 65_534, gid: 65_534 }

/** Whether many unrelated programs run as this user, all of which could read what belongs to it. */
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

/** Who a directory belongs to, with the name and group that the system knows; null when that is root, or we are not. */
export function ownerOf({ uid, gid }: Rights): Identity | null {
  return process.getuid?.() !== 0 || uid === 0 ? null : userWith({ uid, gid }, usersOf(readPasswd()))
}

function userWith({ uid, gid }: Rights, users: readonly Identity[]): Identity {
  return users.find((user) => user.uid === uid) ?? { name: String(uid), uid, gid }
}

/** A name, a uid, or a uid and a gid for users that only a directory service knows. */
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

/** Only root can lend an identity. Who names the user that they are anyway gets what they ask for. */
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

/** The first directory on the way down to `path`, itself included, that `identity` may not pass, or null. */
export function firstImpassable(path: string, identity: Identity): string | null {
  return stepsTo(realpathSync(path)).find((dir) => !mayEnter(statSync(dir), identity)) ?? null
}

/** Every directory from the top down to a path, itself included. */
export function stepsTo(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [...stepsTo(parent), path]
}

/** Spawning with a uid drops all supplementary groups, so the three sets of mode bits decide. */
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
