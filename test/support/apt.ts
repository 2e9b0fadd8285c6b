/** Installs what tests need from Debian's packages, where that can be done: as root, on a system that has them. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'

const APT = '/usr/bin/apt-get'
/** A slow mirror may take minutes; one that does not answer must not hold up the tests for ever. */
const INSTALL_MS = 300_000
/** How many of the installer's last lines an error quotes. */
const TOLD_LINES = 3

export type Environment = Readonly<Record<string, string | undefined>>

export const canInstallPackages = (): boolean => process.getuid?.() === 0 && isProgram(APT)

/**
 * Installs the first of the packages that can be installed; returns what went wrong with the last one, or null if one was
 * installed.
 */
export function installPackage(env: Environment, names: readonly string[]): string | null {
  const run = (...args: string[]) => {
    const { status, stderr, error } = spawnSync(APT, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: INSTALL_MS,
      env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (status === 0) return null
    const said = (error?.message ?? stderr).trim().split('\n').slice(-TOLD_LINES).join(' ')
    return `apt-get ${args.join(' ')} failed: ${said}`
  }
  // Lists that cannot be renewed may still be good enough.
  const stale = run('update')
  let failed: string | null = null
  for (const name of names) {
    failed = run('install', '-y', '--no-install-recommends', name)
    if (failed === null) return null
  }
  return failed === null ? null : [failed, ...(stale === null ? [] : [stale])].join(' ')
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
