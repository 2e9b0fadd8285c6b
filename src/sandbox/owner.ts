/**
 * Folders and cgroups of programs carry the name of the process that made them, so that whoever starts next can tell which were
 * left behind by one that was killed. A pid means something only in its pid namespace: what a process of another one made is
 * left alone, except by age.
 */

import { createHash } from 'node:crypto'
import { readlinkSync } from 'node:fs'
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
