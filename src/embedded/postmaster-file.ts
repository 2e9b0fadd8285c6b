/** What a PostgreSQL server writes about itself into `postmaster.pid`, in its data directory. */

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isTaken } from '../runtime/process-identity.ts'
import { type DataDirectory, socketIn } from './data-directory.ts'
import { errnoOf } from './errors.ts'
import { isPostgresOn } from './process-identity.ts'
import { withRightsOf } from './rights.ts'

/** A server as its own file tells of it. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  /** 'starting', 'ready', 'stopping' or 'standby'; empty before the server has written it. */
  readonly status: string
}

const pidFile = (pg: string) => join(pg, 'postmaster.pid')

type Server = Pick<DataDirectory, 'pg' | 'identity'>

export function readPostmaster({ pg, identity }: Server): Postmaster | null {
  try {
    return parsePostmaster(withRightsOf(identity, () => readFileSync(pidFile(pg), 'utf8')))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}

export function parsePostmaster(text: string): Postmaster | null {
  const lines = text.split('\n')
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid) || pid <= 0) return null
  return { pid, port: Number(lines[3] ?? 0), status: (lines[7] ?? '').trim() }
}

/** The server at work on `pg`, or null when there is none. `pg` must be a real path. */
export function findRunning(server: Server): Postmaster | null {
  const postmaster = readPostmaster(server)
  return postmaster !== null && isPostgresOn(postmaster.pid, server.pg) ? postmaster : null
}

/**
 * Forgets a dead server whose pid is taken, by another program or by its own zombie, which PostgreSQL
 * would take for a server and refuse to start. A file that names a dead pid stays: PostgreSQL knows what to do with it. Children
 * a dead server left behind are still noticed, by the shared memory segment that belongs to the directory.
 */
export function forgetImpostor({ pg, socketDir, identity }: Server & Pick<DataDirectory, 'socketDir'>): void {
  const postmaster = readPostmaster({ pg, identity })
  if (postmaster === null || !isTaken(postmaster.pid) || isPostgresOn(postmaster.pid, pg)) return
  withRightsOf(identity, () => {
    rmSync(pidFile(pg), { force: true })
    if (socketDir !== null) rmSync(`${socketIn(socketDir)}.lock`, { force: true })
  })
}
