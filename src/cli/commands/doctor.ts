import type { Command } from 'commander'
import { addConfigFlags, configFrom } from '../config-flags.ts'

const HELP = `
Exits with 1 if it finds a problem that prevents Belfry from starting or from running reliably.
`

export function doctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('Check this machine and its configuration without changing anything')
    .option('--json', 'Print JSON')
  addConfigFlags(command, [
    'port',
    'host',
    'tlsCert',
    'tlsKey',
    'publicUrl',
    'oidcIssuer',
    'oidcClientId',
    'oidcClientSecret',
    'dataDir',
    'databaseUrl',
    'databasePooling',
    'databaseDirectUrl',
  ])
  command.addHelpText('after', HELP).action(async (flags) => {
    const config = configFrom(flags)
    const { doctor } = await import('../handlers/doctor.ts')
    await doctor(config, { json: flags.json === true })
  })
}
