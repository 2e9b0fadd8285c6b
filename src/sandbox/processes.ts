/** The processes below one, as `/proc` of this machine shows them. */

import { readdirSync, readFileSync } from 'node:fs'
import { statOf } from '../runtime/process-identity.ts'

/** More than a limit of processes allows. */
const MAX_PROCESSES = 100_000

/** All below `pid`, without itself. Those that their parents left belong to the first process of their namespace. */
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

/** Of each of its threads. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return [] // It has just ended.
  }
}

/** What it has in memory that no other program shares. */
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

/** Whether the filter of system calls of a process is in force. */
export function isFiltering(pid: number): boolean {
  try {
    return /^Seccomp:\s+2$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return false
  }
}

/** Whether it has ended; everything in its pid namespace had to end before. */
export function isOver(pid: number): boolean {
  const state = statOf(pid)?.state
  return state === undefined || state === 'Z' || state === 'X'
}

/** To each that still exists and belongs to us; a negative number is a process group. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended by itself.
    }
}
