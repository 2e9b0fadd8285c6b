/**
 * Servers that the user has logged in to, each with a profile name and an API key. Only the owner may have access to the file:
 * a file that others can read or change is rejected.
 */
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import envPaths from 'env-paths'
import { CliError, EXIT } from '../exit.ts'

/** A server, and the API key to authenticate with. */
export interface Profile {
  readonly server: string
  readonly key: string
}

export type Profiles = ReadonlyMap<string, Profile>

export const DEFAULT_PROFILE = 'default'
export const PROFILE_VARIABLE = 'BELFRY_PROFILE'
const OWNER_ONLY = 0o600
const OWNER_ONLY_DIRECTORY = 0o700
const OTHERS = 0o077
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

export const profilesFile = (): string => join(envPaths('belfry', { suffix: '' }).config, 'profiles.json')

/** Returns the name of the profile: from the flag, else from the environment variable; null if neither is set. */
export function profileName(flag: string | undefined, env: NodeJS.ProcessEnv): string | null {
  const name = flag ?? env[PROFILE_VARIABLE] ?? ''
  if (name === '' && flag === undefined) return null
  if (NAME.test(name)) return name
  throw new CliError(
    `The profile name '${name.slice(0, 100)}' is not valid.`,
    `Use up to 64 letters, digits, dots, hyphens and underscores in ${flag === undefined ? PROFILE_VARIABLE : '--profile'}.`,
    EXIT.usage,
  )
}

/** Returns all profiles; none if the file does not exist. */
export function readProfiles(path = profilesFile()): Profiles {
  const text = readOwn(path)
  if (text === null) return new Map()
  const profiles = parse(text)
  if (profiles) return profiles
  throw new CliError(
    `The profiles in ${path} cannot be read: the file is damaged.`,
    'Delete the file and log in again: belfry login',
    EXIT.usage,
  )
}

/** The mode is checked on the open file, so that the file checked is the file read. */
function readOwn(path: string): string | null {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new CliError(
      `The profiles in ${path} cannot be read: ${(error as Error).message}.`,
      'Make the file readable for its owner, or use --server and --api-key instead.',
      EXIT.usage,
    )
  }
  try {
    const { mode } = fstatSync(file)
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw new CliError(
        `The file ${path} contains API keys, and other users can read or change it (mode ${(mode & 0o777).toString(8)}).`,
        `Run: chmod 600 ${path}`,
        EXIT.unauthorised,
      )
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function parse(text: string): Profiles | null {
  try {
    const { profiles } = JSON.parse(text) as { profiles: Record<string, Profile> }
    const entries = Object.entries(profiles)
    const isWhole = entries.every(
      ([, { server, key }]) => typeof server === 'string' && typeof key === 'string',
    )
    return isWhole ? new Map(entries.map(([name, { server, key }]) => [name, { server, key }])) : null
  } catch {
    return null
  }
}

/** Replaces the file atomically, so that it is never incomplete. */
export function writeProfiles(profiles: Profiles, path = profilesFile()): void {
  const directory = dirname(path)
  const draft = `${path}.${randomUUID()}.new`
  try {
    mkdirSync(directory, { recursive: true, mode: OWNER_ONLY_DIRECTORY })
    chmodSync(directory, OWNER_ONLY_DIRECTORY)
    const file = openSync(draft, 'wx', OWNER_ONLY)
    try {
      writeSync(file, `${JSON.stringify({ profiles: Object.fromEntries(profiles) }, null, 2)}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new CliError(
      `The profile cannot be stored in ${path}: ${(error as Error).message}.`,
      'Make the directory writable, or use --server and --api-key instead.',
    )
  }
}
