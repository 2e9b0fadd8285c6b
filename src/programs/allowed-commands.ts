/**
 * Commands of this machine that tasks can run: those that the operator allows, by path or by a pattern in the last segment of a
 * path (`/opt/backup/*`), if they exist. Commands that do not exist are not offered, so that their runs wait for a machine that
 * has them.
 */

import { access, constants, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { MAX_COMMANDS } from '../core/run/own-labels.ts'

export const isPattern = (path: string): boolean => basename(path).includes('*')

/** Whether the operator allows a path, regardless of whether it exists. */
export const isAllowed = (allowed: readonly string[], path: string): boolean =>
  allowed.some((one) => (isPattern(one) ? matches(one, path) : one === path))

function matches(pattern: string, path: string): boolean {
  return dirname(pattern) === dirname(path) && nameRule(basename(pattern)).test(basename(path))
}

/** A star matches any characters of a name. A name that begins with a dot matches only if the pattern begins with a dot. */
function nameRule(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.startsWith('*') ? '(?!\\.)' : ''}${parts.join('[^/]*')}$`)
}

/** Returns the allowed commands that exist and are executable. */
export async function findCommands(allowed: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    allowed.map(async (one) => {
      if (!isPattern(one)) return [one]
      const names = await readdir(dirname(one)).catch(() => [])
      return names.map((name) => join(dirname(one), name)).filter((path) => matches(one, path))
    }),
  )
  const paths = [...new Set(found.flat())].sort().slice(0, MAX_COMMANDS)
  const usable = await Promise.all(paths.map(isCommand))
  return paths.filter((_, i) => usable[i])
}

export async function isCommand(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
