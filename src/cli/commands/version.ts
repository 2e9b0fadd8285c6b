import type { Command } from 'commander'
import { VERSION } from '../version.ts'

export function versionCommand(program: Command): void {
  program
    .command('version')
    .description('Print the version')
    .option('--json', 'Print JSON, including the versions of Node.js and of the time zone data')
    .action(({ json }) => {
      const { node, tz } = process.versions as { node: string; tz?: string }
      process.stdout.write(
        json ? `${JSON.stringify({ belfry: VERSION, node, timeZoneData: tz ?? null })}\n` : `${VERSION}\n`,
      )
    })
}
