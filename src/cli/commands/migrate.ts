import type { Command } from 'commander'
import { addConfigFlags, configFrom } from '../config-flags.ts'
import { openDatabase } from '../database.ts'

export function migrateCommand(program: Command): void {
  const command = program
    .command('migrate')
    .description("Bring the database to this release's schema, and nothing else")
  addConfigFlags(command, ['dataDir', 'databaseUrl'])
  command.addHelpText(
    'after',
    `
Examples:
  belfry migrate --database-url postgresql://belfry@db.example.com/belfry
  belfry migrate                                 the embedded database

Every node migrates when it starts; this is for those who want it to happen at a time of their choosing.
`,
  )
  command.action(async (flags) => {
    const database = await openDatabase(configFrom(flags), () => {})
    for (const { number, name } of database.applied)
      process.stdout.write(`applied ${String(number).padStart(4, '0')} ${name}\n`)
    process.stdout.write(
      database.applied.length === 0
        ? `Up to date: ${database.migrations} migrations.\n`
        : `Done: ${database.applied.length} of ${database.migrations} migrations were missing.\n`,
    )
    await database.close()
  })
}
