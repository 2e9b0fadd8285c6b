/**
 * Descriptors that whoever started this process left open, such as the lock of a script. Everything that Node.js opens is closed
 * in a child by the kernel; these are not, and a program could write to them.
 */

import { accessSync, constants, readdirSync, readFileSync } from 'node:fs'
import { SHELL } from './launcher.ts'

const O_CLOEXEC = 0o2000000
const LAST_STANDARD_FD = 2
/** A shell need not understand numbers of more than one digit. */
const LAST_SIMPLE_FD = 9
const BASH_PATHS = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash']

/** The shell of a launcher, and what it closes first. */
export interface LauncherShell {
  /** The words in front of its script. */
  readonly command: readonly string[]
  readonly inherited: readonly number[]
}

/** The shell that can close them, or why there is none. */
export function findLauncherShell(): LauncherShell | string {
  const inherited = inheritedDescriptors()
  const last = inherited.at(-1) ?? 0
  if (last <= LAST_SIMPLE_FD) return { command: [SHELL, '-c'], inherited }
  const bash = BASH_PATHS.find(isExecutable)
  // Privileged, it takes no functions and no script from the environment; otherwise it should be like any shell.
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
    return true // It was the one with which the others were listed.
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
