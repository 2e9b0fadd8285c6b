import type { Command } from 'commander'
import { CADENCES, CONFIG_KEYS, NETWORK_SETTINGS } from '../../runtime/config/settings.ts'
import { addConfigFlags, configFrom, settingNames } from '../config-flags.ts'

const HELP = `
${settingNames('Networks (see docs/reference/configuration.md)', NETWORK_SETTINGS)}
${settingNames('Tuning', CADENCES)}

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
