/** Reads `postmaster.pid`, in which a PostgreSQL server describes itself, from its data directory. */

import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isTaken } from '../runtime/process-identity.ts'
import { type DataDirectory, socketIn } from './data-directory.ts'
import { errnoOf } from './errors.ts'
import { isPostgresOn } from './process-identity.ts'
import { withRightsOf } from './rights.ts'

/** A server as described by its pid file. */
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

/** Returns the server running on `pg`; null if there is none. `pg` must be a real path. */
export function findRunning(server: Server): Postmaster | null {
  const postmaster = readPostmaster(server)
  return postmaster !== null && isPostgresOn(postmaster.pid, server.pg) ? postmaster : null
}

/**
 * Deletes the pid file of a dead server whose pid is in use by another program or by its own zombie; PostgreSQL would take that
 * process for a server and refuse to start. A file with an unused pid is kept, since PostgreSQL handles it. Remaining child
 * processes of a dead server are still detected, by the shared memory segment of the directory.
 */
export function forgetImpostor({ pg, socketDir, identity }: Server & Pick<DataDirectory, 'socketDir'>): void {
  const postmaster = readPostmaster({ pg, identity })
  if (postmaster === null || !isTaken(postmaster.pid) || isPostgresOn(postmaster.pid, pg)) return
  withRightsOf(identity, () => {
    rmSync(pidFile(pg), { force: true })
    if (socketDir !== null) rmSync(`${socketIn(socketDir)}.lock`, { force: true })
  })
}
