/**
 * Distinguishes a process from a later one with the same pid. After a crash or a reboot, a pid alone proves nothing; a pid with
 * its start time does. Zombies count as dead: they hold no resources, and in a container whose first process does not reap them
 * they remain until it ends.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const PS_TIMEOUT_MS = 2_000

export function isAlive(pid: number): boolean {
  return isTaken(pid) && (process.platform !== 'linux' || statOf(pid)?.state !== 'Z')
}

/** Whether any process has this pid, including a zombie. */
export function isTaken(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' // It lives, and belongs to someone else.
  }
}

/** Text that differs between any two processes with this pid; null if the system does not provide it. */
export function startTimeOf(pid: number): string | null {
  if (process.platform === 'linux') {
    const stat = statOf(pid)
    return stat === null ? null : `${bootId()}/${stat.startTicks}`
  }
  return process.platform === 'win32' ? null : ps(pid, 'lstart=')
}

/** The members of `/proc/PID/stat` that identify a process; null if the file does not exist. */
export function statOf(pid: number): { name: string; state: string; startTicks: string } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name stands in parentheses and may itself hold spaces and parentheses.
    const close = text.lastIndexOf(')')
    const fields = text.slice(close + 2).split(' ')
    return {
      name: text.slice(text.indexOf('(') + 1, close),
      state: fields[0] ?? '',
      startTicks: fields[19] ?? '',
    }
  } catch {
    return null
  }
}

/** Start ticks count from boot, and after a reboot the same pid may start at the same tick. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return ''
  }
}

/** One column of `ps`, for systems without `/proc`. */
export function ps(pid: number, column: string): string | null {
  try {
    const output = execFileSync('ps', ['-ww', '-o', column, '-p', String(pid)], {
      encoding: 'utf8',
      env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/bin:/usr/bin' },
      timeout: PS_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return output.trim() || null
  } catch {
    return null
  }
}
