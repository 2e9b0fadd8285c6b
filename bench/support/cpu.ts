/** CPU time and memory of processes, as Linux tells them in /proc. */
import { readdirSync, readFileSync } from 'node:fs'

/** The unit in which Linux reports CPU times to programs, whatever the kernel uses internally. */
const TICKS_PER_SECOND = 100
const US_PER_TICK = 1_000_000 / TICKS_PER_SECOND
const MAX_READINGS = 10

/** Fields of /proc/<pid>/stat behind the name, which may hold anything. */
const PARENT = 1
const OWN = [11, 12] as const
const REAPED = [13, 14] as const

function statOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null // It has ended.
  }
}

const sumOf = (fields: readonly string[] | null, which: readonly number[]) =>
  which.reduce((sum, index) => sum + Number(fields?.[index] ?? 0), 0) * US_PER_TICK

/** CPU time of one process with all its threads, in microseconds; 0 when it is not there. */
export function ownCpuUs(pid: number): number {
  return sumOf(statOf(pid), OWN)
}

/**
 * Returns the CPU time of a server and its children, in microseconds. The time of children that have ended is in what the
 * server has reaped. A child that ends during the reading would be counted twice or not at all, so the reading is repeated.
 */
export function treeCpuUs(pid: number): number {
  let sum = 0
  for (let reading = 0; reading < MAX_READINGS; reading++) {
    const reaped = sumOf(statOf(pid), REAPED)
    sum = reaped + ownCpuUs(pid)
    for (const child of childrenOf(pid)) sum += ownCpuUs(child) + sumOf(statOf(child), REAPED)
    if (sumOf(statOf(pid), REAPED) === reaped) break
  }
  return sum
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(statOf(pid)?.[PARENT]) === parent)
}

const kilobytes = (file: string, label: string): number => {
  try {
    return Number(new RegExp(`^${label}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** The most memory that a process has held so far. */
export const peakMiB = (pid: number) => kilobytes(`/proc/${pid}/status`, 'VmHWM') / 1024

/** Returns the current memory of a process. */
export const residentMiB = (pid: number) => kilobytes(`/proc/${pid}/status`, 'VmRSS') / 1024

/** Returns the current memory of a server and its children, counting shared memory once. */
export const treeMiB = (pid: number) =>
  [pid, ...childrenOf(pid)].reduce((sum, id) => sum + kilobytes(`/proc/${id}/smaps_rollup`, 'Pss'), 0) / 1024
