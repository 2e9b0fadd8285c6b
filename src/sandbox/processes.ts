/** Information about processes and their descendants, from `/proc`. */

import { readdirSync, readFileSync } from 'node:fs'
import { statOf } from '../runtime/process-identity.ts'

/** More than any limit on processes allows. */
const MAX_PROCESSES = 100_000

/** Returns all descendants of `pid`, without itself. Orphaned processes are children of the first process of their namespace. */
export function descendantsOf(pid: number): readonly number[] {
  const found: number[] = []
  const pending = [pid]
  for (let next = pending.pop(); next !== undefined && found.length < MAX_PROCESSES; next = pending.pop()) {
    const children = childrenOf(next)
    found.push(...children)
    pending.push(...children)
  }
  return found
}

/** Returns the children of all threads of a process. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return [] // It has just ended.
  }
}

/** Memory of a process that it does not share with other programs. */
export function memoryOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    const kilobytes = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
    return (kilobytes('RssAnon') + kilobytes('RssShmem')) * 1_024
  } catch {
    return 0
  }
}

/** Whether the process has an active seccomp filter. */
export function isFiltering(pid: number): boolean {
  try {
    return /^Seccomp:\s+2$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return false
  }
}

/** Whether the process has ended. If it was the first of a pid namespace, all others in it have ended before. */
export function isOver(pid: number): boolean {
  const state = statOf(pid)?.state
  return state === undefined || state === 'Z' || state === 'X'
}

/** Sends a signal to each process that still exists and belongs to this user; a negative number is a process group. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended by itself.
    }
}
