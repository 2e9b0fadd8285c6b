import type { Command } from 'commander'
import { CADENCES, CONFIG_KEYS, type ConfigKey, flagOf, NETWORK_SETTINGS } from '../../runtime/config.ts'
import { addConfigFlags, configFrom } from '../config-flags.ts'

/** The names alone, in lines that fit beside the rest; what each is for would fill another screen. */
const names = (title: string, keys: readonly ConfigKey[]) =>
  `${title}: ${keys.map(flagOf).join(' ')}`.match(/.{1,98}( |$)/g)?.join('\n')

const HELP = `
${names('Networks (see docs/reference/configuration.md)', NETWORK_SETTINGS)}
${names('Tuning', CADENCES)}

Every setting is also an environment variable and a key of belfry.toml. Flags override variables,
variables override the file:  --data-dir ./data  =  BELFRY_DATA_DIR=./data  =  data_dir = "./data"

Examples:
  belfry start --roles worker --database-url postgresql://belfry@db.example.com/belfry
`

export function startCommand(program: Command): void {
  const command = program
    .command('start')
    .description('Start Belfry, by default with all roles and an embedded database')
  addConfigFlags(command, CONFIG_KEYS)
  command.addHelpText('after', HELP).action(async (flags) => {
    const config = configFrom(flags)
    const { start } = await import('../handlers/start.ts')
    await start(config)
  })
}
