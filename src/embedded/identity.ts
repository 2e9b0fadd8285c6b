/**
 * Which user the database runs as. PostgreSQL refuses to run as root, so root lends it another identity:
 * the owner of the data when there is some, else an existing unprivileged user. No user is ever created.
 */

import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The user the server runs as, or null when it simply runs as we do. */
export interface Identity {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** In order of preference; the first is for packagers who give Belfry a user of its own. */
const SUITABLE_USERS = ['belfry', 'nobody', 'postgres']
const NOBODY: Identity = { name: 'nobody', uid: 65_534, gid: 65_534 }

/** `owner` is the owner of existing data, or of the directory it will go to. */
export function identityToRunAs(owner: Pick<Stats, 'uid' | 'gid'> | null): Identity | null {
  if (process.getuid?.() !== 0) return null
  const users = usersOf(readPasswd())
  if (owner !== null && owner.uid !== 0) {
    const known = users.find((user) => user.uid === owner.uid)
    return known ?? { name: String(owner.uid), uid: owner.uid, gid: owner.gid }
  }
  for (const name of SUITABLE_USERS) {
    const user = users.find((candidate) => candidate.name === name)
    if (user !== undefined && user.uid !== 0) return user
  }
  return NOBODY
}

export function usersOf(passwd: string): Identity[] {
  return passwd.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':')
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

/** The first directory on the way down to `path`, itself included, that `identity` may not pass, or null. */
export function firstImpassable(path: string, identity: Identity): string | null {
  const chain: string[] = []
  for (let dir = realpathSync(path); ; dir = dirname(dir)) {
    chain.unshift(dir)
    if (dir === dirname(dir)) break
  }
  return chain.find((dir) => !mayEnter(statSync(dir), identity)) ?? null
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
