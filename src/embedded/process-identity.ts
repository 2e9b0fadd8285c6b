/** Recognising the servers that this or an earlier process started. */

import { readlinkSync } from 'node:fs'
import { isAlive, ps, statOf } from '../runtime/process-identity.ts'

/** Whether `pid` is a PostgreSQL server working in `pgDir`, which must be a real path. */
export function isPostgresOn(pid: number, pgDir: string): boolean {
  if (!isAlive(pid)) return false
  if (process.platform === 'win32') return true
  if (process.platform !== 'linux') return ps(pid, 'command=')?.includes(pgDir) ?? false
  try {
    // A server, and each of its children, has its data directory as the working directory.
    return readlinkSync(`/proc/${pid}/cwd`) === pgDir
  } catch {
    // Another user's process: its name is all we may see, and being wrong here must mean leaving it alone.
    return statOf(pid)?.name.startsWith('postgres') ?? false
  }
}
