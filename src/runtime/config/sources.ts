/**
 * Where values come from: flags, the environment, a file. A name that is not known is refused with the nearest one that is:
 * a typo must not silently mean the default.
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { nearest } from '../../core/words/nearest.ts'
import { ConfigError } from './config-error.ts'
import { readSecretFile } from './secret-file.ts'
import { CONFIG_KEYS, type Config, type ConfigKey, flagOf, SETTINGS, snake, variableOf } from './settings.ts'

/** Variables of the same prefix that other programs of the project read. */
const OTHER_VARIABLES = [
  'BELFRY_CONFIG',
  'BELFRY_URL',
  'BELFRY_KEY',
  'BELFRY_KEY_FILE',
  'BELFRY_PROJECT',
  'BELFRY_PROFILE',
  'BELFRY_TOKEN',
  'BELFRY_TOKEN_FILE',
  'BELFRY_CA_FILE',
]
const CONFIG_FILE = 'belfry.toml'

/** Where settings are looked for, first things first. */
export interface ConfigSources {
  /** Values given on the command line, by key. */
  readonly flags: Readonly<Partial<Record<ConfigKey, unknown>>>
  readonly env: Readonly<Record<string, string | undefined>>
  /** A configuration file that must exist; without it belfry.toml of the working directory, if there is one. */
  readonly file: string | null
  readonly cwd: string
}

/** What was said, wherever it was; nothing else. */
export function valuesOf({ flags, env, file, cwd }: ConfigSources): Partial<Config> {
  const fromEnv = readEnvironment(env)
  const path = file ?? env['BELFRY_CONFIG'] ?? null
  const fromFile = readFile(path ?? CONFIG_FILE, cwd, path !== null)
  const given: Record<string, unknown> = {}
  for (const key of CONFIG_KEYS) {
    const found = [
      { value: flags[key], name: flagOf(key) },
      { value: fromEnv[key], name: variableOf(key) },
      { value: fromFile[key], name: `${snake(key)} in ${path ?? CONFIG_FILE}` },
    ].find(({ value }) => value !== undefined)
    if (found !== undefined) given[key] = parse(key, found)
  }
  return given
}

/** Values that nobody may see. */
const SECRETS: readonly ConfigKey[] = [
  'adminKey',
  'oidcClientSecret',
  'databaseUrl',
  'databaseDirectUrl',
  'smtpUrl',
]
/** What an error message does not repeat. Keys have a setting of their own for files. */
const UNTOLD: readonly ConfigKey[] = [...SECRETS, 'secretsKey']

function parse(key: ConfigKey, { value, name }: { value: unknown; name: string }): unknown {
  try {
    return SETTINGS[key].parse(value)
  } catch (error) {
    const shown = UNTOLD.includes(key) ? '…' : String(value).slice(0, 100)
    throw new ConfigError(`${name} is '${shown}'; it ${(error as Error).message}.`)
  }
}

function readEnvironment(env: ConfigSources['env']): Partial<Record<ConfigKey, string>> {
  const known = new Map(CONFIG_KEYS.map((key) => [variableOf(key), key]))
  const found: Partial<Record<ConfigKey, string>> = {}
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('BELFRY_') || OTHER_VARIABLES.includes(name) || value === undefined) continue
    if (isServiceLink(name, value)) continue
    const fileOf = known.get(name.replace(/_FILE$/, ''))
    if (name.endsWith('_FILE') && fileOf !== undefined && SECRETS.includes(fileOf)) {
      found[fileOf] = readSecretFile(name, value)
      continue
    }
    const key = known.get(name)
    if (!key)
      throw new ConfigError(
        `Unknown environment variable ${name}. Did you mean ${nearest(name, [...known.keys()])}?`,
      )
    found[key] = value
  }
  return found
}

/**
 * Kubernetes tells every container about a service called belfry in variables of our prefix, of which
 * BELFRY_PORT even has the name of a setting. They are nobody's typing errors.
 */
function isServiceLink(name: string, value: string): boolean {
  return (
    /^BELFRY_(.+_)?SERVICE_(HOST|PORT)(_|$)/.test(name) ||
    /^BELFRY_(.+_)?PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?$/.test(name) ||
    (/^BELFRY_(.+_)?PORT$/.test(name) && /^(tcp|udp):\/\//.test(value))
  )
}

function readFile(path: string, cwd: string, mustExist: boolean): Partial<Record<ConfigKey, unknown>> {
  let content: string
  try {
    content = readFileSync(resolve(cwd, path), 'utf8')
  } catch (error) {
    if (!mustExist && (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new ConfigError(`Cannot read the configuration file ${path}: ${(error as Error).message}.`)
  }
  const known = new Map(CONFIG_KEYS.map((key) => [snake(key), key]))
  const found: Partial<Record<ConfigKey, unknown>> = {}
  for (const [name, value] of Object.entries(parseFile(path, content))) {
    const key = known.get(name)
    if (!key)
      throw new ConfigError(
        `${path}: '${name}' is not a setting. Did you mean '${nearest(name, [...known.keys()])}'?`,
      )
    found[key] = value
  }
  return found
}

function parseFile(path: string, content: string): Record<string, unknown> {
  try {
    return parseToml(content)
  } catch (error) {
    throw new ConfigError(`${path} is not valid TOML: ${(error as Error).message.split('\n')[0]}.`)
  }
}
