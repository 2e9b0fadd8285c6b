/**
 * Reads settings from flags, the environment and a file. An unknown name is rejected with the most similar known one, because a
 * typing error must not silently result in the default.
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

/** The sources of settings, in order of precedence. */
export interface ConfigSources {
  /** Values given on the command line, by key. */
  readonly flags: Readonly<Partial<Record<ConfigKey, unknown>>>
  readonly env: Readonly<Record<string, string | undefined>>
  /** The configuration file, which must exist. Without it, belfry.toml of the working directory is read if it exists. */
  readonly file: string | null
  readonly cwd: string
}

/** Returns the values that are set in any of the sources, without defaults. */
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

/** Settings whose values must not be shown. */
const SECRETS: readonly ConfigKey[] = [
  'adminKey',
  'oidcClientSecret',
  'databaseUrl',
  'databaseDirectUrl',
  'smtpUrl',
]
/** Settings whose values error messages omit. `secretsKey` is not in the list above because it has its own setting for a file. */
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
 * Whether Kubernetes set a variable to describe a service named belfry. Such variables have the same prefix, and BELFRY_PORT
 * even the name of a setting, so they must not be treated as typing errors.
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
