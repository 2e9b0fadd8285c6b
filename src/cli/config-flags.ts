import { type Command, Option } from 'commander'
import {
  CONFIG_KEYS,
  type Config,
  ConfigError,
  type ConfigKey,
  flagOf,
  readConfig,
  SETTINGS,
  variableOf,
} from '../runtime/config.ts'
import { CliError, EXIT } from './exit.ts'

/** Adds a flag for each of the settings; what each one means is written once, beside the setting. */
export function addConfigFlags(command: Command, keys: readonly ConfigKey[]): Command {
  for (const key of keys) {
    const { help, default: fallback } = SETTINGS[key]
    const shown =
      fallback === null
        ? ''
        : ` (default: ${Array.isArray(fallback) ? fallback.join(',') : String(fallback)})`
    command.addOption(new Option(`${flagOf(key)} <value>`, `${help}${shown} [${variableOf(key)}]`))
  }
  return command.option(
    '--config <file>',
    'Configuration file (default: belfry.toml in this directory, if there is one) [BELFRY_CONFIG]',
  )
}

export function configFrom(flags: Readonly<Record<string, unknown>>): Config {
  const given = Object.fromEntries(CONFIG_KEYS.map((key) => [key, flags[key]]))
  const file = typeof flags['config'] === 'string' ? flags['config'] : null
  try {
    return readConfig({ flags: given, env: process.env, file, cwd: process.cwd() })
  } catch (error) {
    if (error instanceof ConfigError)
      throw new CliError(error.message, 'belfry start --help lists the settings.', EXIT.usage)
    throw error
  }
}
