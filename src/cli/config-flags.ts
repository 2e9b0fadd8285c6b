import { type Command, Option } from 'commander'
import { readConfig } from '../runtime/config/config.ts'
import { ConfigError } from '../runtime/config/config-error.ts'
import { CONFIG_KEYS, type Config, type ConfigKey, flagOf, SETTINGS } from '../runtime/config/settings.ts'
import { CliError, EXIT } from './exit.ts'

/** Adds a flag for each of the settings. The help texts come from the declarations of the settings. */
export function addConfigFlags(command: Command, keys: readonly ConfigKey[]): Command {
  for (const key of keys) {
    const takes = typeof SETTINGS[key].default === 'boolean' ? '' : ` <${placeholder(key)}>`
    const option = new Option(`${flagOf(key)}${takes}`, describe(key))
    const { isCadence, isForNetworks } = SETTINGS[key]
    command.addOption(isCadence || isForNetworks ? option.hideHelp() : option)
  }
  return command
    .option('--config <file>', 'Configuration file (default: belfry.toml, if it exists)')
    .helpOption('-h, --help', 'Show this help')
}

/** Lists only the names of the flags, wrapped to the width of the help; their descriptions would fill another screen. */
export const settingNames = (title: string, keys: readonly ConfigKey[]): string | undefined =>
  `${title}: ${keys.map(flagOf).join(' ')}`.match(/.{1,98}( |$)/g)?.join('\n')

/** Placeholder for the value of the flag in the help. */
function placeholder(key: ConfigKey): string {
  if (typeof SETTINGS[key].default === 'number') return 'n'
  return (
    {
      dataDir: 'dir',
      runAs: 'user',
      databasePooling: 'mode',
      preset: 'name',
      host: 'address',
      roles: 'list',
      labels: 'list',
      allowedOrigins: 'list',
      trustedProxies: 'list',
      allowedPrivateNetworks: 'list',
      exec: 'mode',
      execNetwork: 'mode',
      execCommands: 'list',
      execReadable: 'list',
      execWritable: 'list',
      tlsCert: 'file',
      tlsKey: 'file',
      privateAddresses: 'mode',
      smtpFrom: 'address',
    }[key as string] ??
    flagOf(key).split('-').pop() ??
    ''
  )
}

function describe(key: ConfigKey): string {
  const { help, default: fallback } = SETTINGS[key]
  if (fallback === null || fallback === false || String(fallback) === '') return help
  return `${help} (default: ${key === 'roles' ? 'all' : String(fallback)})`
}

export function configFrom(flags: Readonly<Record<string, unknown>>): Config {
  const given = Object.fromEntries(CONFIG_KEYS.map((key) => [key, flags[key]]))
  const file = typeof flags['config'] === 'string' ? flags['config'] : null
  try {
    return readConfig({ flags: given, env: process.env, file, cwd: process.cwd() })
  } catch (error) {
    if (error instanceof ConfigError)
      throw new CliError(error.message, 'For all settings: belfry start --help', EXIT.usage)
    throw error
  }
}
