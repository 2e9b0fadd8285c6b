import type { Command } from 'commander'
import { CADENCES, CONFIG_KEYS, flagOf } from '../../runtime/config.ts'
import { addConfigFlags, configFrom } from '../config-flags.ts'

/** The names alone, in lines that fit beside the rest; what each is for would fill another screen. */
const NAMES = `How often and how much at once: ${CADENCES.map(flagOf).join(' ')}`
  .match(/.{1,98}( |$)/g)
  ?.join('\n')

const HELP = `
${NAMES}

Each setting is also a variable and a line of belfry.toml; flags win over variables, variables over
the file:  --data-dir ./data  =  BELFRY_DATA_DIR=./data  =  data_dir = "./data"

Examples:
  belfry start --database-url postgresql://belfry@db.example.com/belfry
  belfry start --roles worker --concurrency 200  one of many workers on a shared database
`

export function startCommand(program: Command): void {
  const command = program
    .command('start')
    .description('Start Belfry: the database if need be, the scheduler, a worker and the API')
  addConfigFlags(command, CONFIG_KEYS)
  command.addHelpText('after', HELP).action(async (flags) => {
    const config = configFrom(flags)
    const { start } = await import('../handlers/start.ts')
    await start(config)
  })
}
