import type { Config } from '../../runtime/config/settings.ts'
import { openDatabase } from '../database.ts'

export async function migrateDatabase(config: Config): Promise<void> {
  const { applied, migrations, close } = await openDatabase(config, () => {})
  for (const { number, name } of applied)
    process.stdout.write(`applied ${String(number).padStart(4, '0')} ${name}\n`)
  process.stdout.write(
    applied.length === 0
      ? `Up to date: ${migrations} migrations.\n`
      : `Applied ${applied.length} of ${migrations} migrations.\n`,
  )
  await close()
}
