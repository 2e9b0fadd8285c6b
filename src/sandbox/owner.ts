/**
 * Folders and cgroups of programs carry the name of the process that made them, so that whoever starts next can tell which were
 * left behind by one that was killed. A pid means something only in its pid namespace: what a process of another one made is
 * left alone, except by age.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { isAlive, startTimeOf } from '../runtime/process-identity.ts'

const NAME = /^belfry-programs-(\d+)-(\d+)-([0-9a-f]{8})-/

/** The beginning of every name that this process gives. */
export const ownPrefix = (): string =>
  `belfry-programs-${pidNamespace()}-${process.pid}-${startMark(process.pid)}-`

export type Leftover =
  /** Not one of these names, or its process lives. */
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
 * Programs, and launchers of programs, whose process is gone: their output goes to one of its pipes. In a sandbox they end by
 * themselves, but for an instant in which bubblewrap does not; without one, those that left their process group stay.
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

/** Start times are long and contain slashes. */
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
