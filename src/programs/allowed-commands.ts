/**
 * The commands of this machine that tasks may run: those that the operator names, one by one or by a pattern in the last part of a path
 * (`/opt/backup/*`), as far as they are there. What is not there is not offered, so that its runs wait for a machine that has it.
 */
import { access, constants, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Commands that one worker offers; more are left out, in the order of their names. */
export const MAX_COMMANDS = 1_000

export const isPattern = (path: string): boolean => basename(path).includes('*')

/** Whether a path is one that the operator allows, whatever is there. */
export const isAllowed = (allowed: readonly string[], path: string): boolean =>
  allowed.some((one) => (isPattern(one) ? matches(one, path) : one === path))

function matches(pattern: string, path: string): boolean {
  return dirname(pattern) === dirname(path) && nameRule(basename(pattern)).test(basename(path))
}

/** A star stands for any characters of a name; a name that begins with a dot is only meant where the pattern begins with one. */
function nameRule(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.startsWith('*') ? '(?!\\.)' : ''}${parts.join('[^/]*')}$`)
}

/** Those that are there and can be executed. */
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
