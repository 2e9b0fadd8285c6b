/**
 * Folders and cgroups of programs contain the identity of the process that created them in their name, so that later processes
 * can detect which were left behind by a killed process. A pid is valid only in its pid namespace: objects from another
 * namespace are removed only by age.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { isAlive, startTimeOf } from '../runtime/process-identity.ts'

const NAME = /^belfry-programs-(\d+)-(\d+)-([0-9a-f]{8})-/

/** Prefix of every name that this process creates. */
export const ownPrefix = (): string =>
  `belfry-programs-${pidNamespace()}-${process.pid}-${startMark(process.pid)}-`

export type Leftover =
  /** Not a name of this form, or its process is alive. */
  | 'in_use'
  | 'left_behind'
  /** Made in another pid namespace. */
  | 'unknown'

export function judgeName(name: string): Leftover {
  const [, namespace, pid, mark] = NAME.exec(name) ?? []
  if (pid === undefined) return 'in_use'
  if (namespace !== pidNamespace()) return 'unknown'
  return isAlive(Number(pid)) && startMark(Number(pid)) === mark ? 'in_use' : 'left_behind'
}

/**
 * Returns programs and launchers whose creator has ended: their output goes to one of its pipes. In a sandbox they end by
 * themselves, except for a short moment in bubblewrap; without a sandbox, those that left their process group remain.
 */
export function processesLeftBehind(): readonly number[] {
  return processIds().filter((pid) => {
    const folder = outputOf(pid)
      .split('/')
      .find((part) => NAME.test(part))
    return folder !== undefined && judgeName(folder) === 'left_behind'
  })
}

function processIds(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return [] // Not Linux.
  }
}

function outputOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/fd/1`)
  } catch {
    return '' // Somebody else's, or it has just ended.
  }
}

/** Hashed because start times are long and contain slashes. */
const startMark = (pid: number): string =>
  createHash('sha256')
    .update(startTimeOf(pid) ?? '')
    .digest('hex')
    .slice(0, 8)

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')
  } catch {
    return '0'
  }
}
