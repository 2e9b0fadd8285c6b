/**
 * File descriptors that the parent process left open, such as the lock of a script. The kernel closes descriptors of Node.js in
 * child processes, but not these, and a program could write to them.
 */

import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { SHELL } from './launcher.ts'

const O_CLOEXEC = 0o2000000
const LAST_STANDARD_FD = 2
/** Shells are only required to support single-digit descriptor numbers in redirections. */
const LAST_SIMPLE_FD = 9
const BASH_PATHS = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash']

/** The shell of a launcher, and the descriptors that it closes first. */
export interface LauncherShell {
  /** The arguments before its script. */
  readonly command: readonly string[]
  readonly inherited: readonly number[]
}

/** Returns a shell that can close the descriptors, or why there is none. */
export function findLauncherShell(): LauncherShell | string {
  const inherited = inheritedDescriptors()
  const last = inherited.at(-1) ?? 0
  if (last <= LAST_SIMPLE_FD) return { command: [SHELL, '-c'], inherited }
  const bash = BASH_PATHS.find(isExecutable)
  // In privileged mode, bash takes no functions and no startup script from the environment; in POSIX mode, it behaves like any
  // shell.
  if (bash !== undefined) return { command: [bash, '--posix', '-p', '-c'], inherited }
  return (
    `This process was started with descriptor ${last} open, and only bash can keep programs from inheriting it. ` +
    'Install bash, or close the descriptor before Belfry starts.'
  )
}

function inheritedDescriptors(): readonly number[] {
  return openDescriptors()
    .filter((fd) => fd > LAST_STANDARD_FD && !isClosedInChildren(fd))
    .sort((a, b) => a - b)
}

function openDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number)
  } catch {
    return [] // Not Linux.
  }
}

function isClosedInChildren(fd: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & O_CLOEXEC) !== 0
  } catch {
    return true // The descriptor with which the directory was listed.
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
