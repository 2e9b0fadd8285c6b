import type { Command } from 'commander'
import { addConfigFlags, configFrom } from '../config-flags.ts'

const HELP = `
Ends with 1 when it finds a problem that would keep Belfry from starting or from keeping its promises.
`

export function doctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('Check this machine and its configuration, changing nothing')
    .option('--json', 'As JSON')
  addConfigFlags(command, ['port', 'host', 'dataDir', 'databaseUrl', 'databasePooling', 'databaseDirectUrl'])
  command.addHelpText('after', HELP).action(async (flags) => {
    const config = configFrom(flags)
    const { doctor } = await import('../handlers/doctor.ts')
    await doctor(config, { json: flags.json === true })
  })
}
