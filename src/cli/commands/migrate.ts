import type { Command } from 'commander'
import { addConfigFlags, configFrom } from '../config-flags.ts'

const HELP = `
Every node migrates when it starts; this is for those who want it to happen at a time of their choosing.

Examples:
  belfry migrate --database-url postgresql://belfry@db.example.com/belfry
  belfry migrate                                 the embedded database
`

export function migrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description("Bring the database to this release's schema, and nothing else")
  addConfigFlags(command, ['dataDir', 'databaseUrl', 'databasePooling'])
  command.addHelpText('after', HELP).action(async (flags) => {
    const config = configFrom(flags)
    const { migrateDatabase } = await import('../handlers/migrate.ts')
    await migrateDatabase(config)
  })
}
