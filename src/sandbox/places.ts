/**
 * A place is what a program occupies while it runs: two pipes for its output and, if this process is root, its own user.
 * Process limits do not apply to root, and the kernel cannot distinguish two programs of the same user.
 */

import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync } from 'node:fs'
import { chown, mkdir } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A user of the system, by uid and gid. */
export interface User {
  readonly uid: number
  readonly gid: number
}

/** Pipes and a user, occupied by one program at a time. */
export interface Place {
  /** The user that the program runs as; null for the user of this process. */
  readonly user: User | null
  readonly stdoutPath: string
  readonly stderrPath: string
}

/** Above the range that systems assign to people, services and containers, and below the uids that some tools treat as negative. */
const FIRST_UID = 1_879_048_192
const LAST_UID = 2_147_483_647
/** Each process uses a block of this many uids. */
const BLOCK = 256
/** If only few uids exist, as in most containers, the last ones are used, except for these; 65534 is nobody. */
const RESERVED_AT_END = 8
const TOOLS_PATH = '/usr/bin:/bin'

/** Creates as many places as programs run concurrently, and reuses free ones. */
export class Places {
  readonly #folder: string
  readonly #firstUid: number | null
  readonly #free: Place[] = []
  #made = 0

  /** If `firstUid` is null, programs run as the user of this process. */
  constructor(folder: string, firstUid: number | null) {
    this.#folder = folder
    this.#firstUid = firstUid
  }

  async take(): Promise<Place> {
    const free = this.#free.pop()
    if (free !== undefined) return free
    const number = this.#made
    this.#made += 1
    const uid = this.#firstUid === null ? null : this.#firstUid + (number % BLOCK)
    return makePlace(join(this.#folder, `place-${number}`), uid === null ? null : { uid, gid: uid })
  }

  /** Frees a place. Its pipes must have no reader and no writer left. */
  giveBack(place: Place): void {
    this.#free.push(place)
  }
}

/** Creates a place with named pipes, because a program that opens `/dev/stdout` could not open the sockets that Node.js creates. */
export async function makePlace(folder: string, user: User | null): Promise<Place> {
  await mkdir(folder, { mode: 0o700 })
  const paths = [join(folder, 'stdout'), join(folder, 'stderr')] as const
  await promisify(execFile)('mkfifo', ['-m', '600', '--', ...paths], { env: { PATH: TOOLS_PATH }, cwd: '/' })
  if (user !== null) for (const path of paths) await chown(path, user.uid, user.gid)
  return { user, stdoutPath: paths[0], stderrPath: paths[1] }
}

/**
 * Both ends of a pipe: a socket to read from, and a descriptor for the program, which the caller closes after the program has
 * inherited it.
 */
export interface OpenPipe {
  readonly reader: Socket
  readonly writer: number
}

export function openPipe(path: string): OpenPipe {
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const writer = openSync(path, constants.O_WRONLY)
    return { reader: new Socket({ fd: reading, readable: true, writable: false }), writer }
  } catch (error) {
    closeSync(reading)
    throw error
  }
}

/** Returns the first uid that this process assigns to programs, among those that exist in its user namespace. */
export function firstUid(uidMap: string, pid: number): number {
  const ranges = uidMap
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const holds = (uid: number) =>
    ranges.some(([start = 0, , count = 0]) => uid >= start && uid + BLOCK <= start + count)
  const blocks = Math.floor((LAST_UID - FIRST_UID) / BLOCK)
  const preferred = FIRST_UID + (pid % blocks) * BLOCK
  if (holds(preferred)) return preferred
  const end = Math.max(...ranges.map(([start = 0, , count = 0]) => start + count))
  return Math.max(1, end - RESERVED_AT_END - BLOCK)
}

/** Returns null unless this process is root: only root can choose a user. */
export function ownFirstUid(): number | null {
  if (process.getuid?.() !== 0) return null
  return firstUid(readFileSync('/proc/self/uid_map', 'latin1'), process.pid)
}
