/** Recognises PostgreSQL servers that this or an earlier process started. */

import { readlinkSync } from 'node:fs'
import { isAlive, ps, statOf } from '../runtime/process-identity.ts'

/** Whether `pid` is a PostgreSQL server working in `pgDir`, which must be a real path. */
export function isPostgresOn(pid: number, pgDir: string): boolean {
  if (!isAlive(pid)) return false
  if (process.platform === 'win32') return true
  if (process.platform !== 'linux') return ps(pid, 'command=')?.includes(pgDir) ?? false
  try {
    // The working directory of a server and of its children is the data directory.
    return readlinkSync(`/proc/${pid}/cwd`) === pgDir
  } catch {
    // For another user's process only the name is visible. In case of doubt it counts as a server, so that it is left alone.
    return statOf(pid)?.name.startsWith('postgres') ?? false
  }
}
