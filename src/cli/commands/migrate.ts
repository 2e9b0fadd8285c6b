import type { Command } from 'commander'
import { addConfigFlags, configFrom } from '../config-flags.ts'

const HELP = `
Every node migrates the database when it starts. Use this command to migrate at a time of your
choosing.

Examples:
  belfry migrate --database-url postgresql://belfry@db.example.com/belfry
  belfry migrate                                 the embedded database
`

export function migrateCommand(program: Command): void {
  const command = program.command('migrate').description('Migrate the database to the schema of this release')
  addConfigFlags(command, ['dataDir', 'databaseUrl', 'databasePooling'])
  command.addHelpText('after', HELP).action(async (flags) => {
    const config = configFrom(flags)
    const { migrateDatabase } = await import('../handlers/migrate.ts')
    await migrateDatabase(config)
  })
}
