import type { Command } from 'commander'

export function versionCommand(program: Command): void {
  program
    .command('version')
    .description('Print the version')
    .option('--json', 'Print JSON, including the versions of Node.js and of the time zone data')
    .action(async ({ json }) => {
      const { VERSION } = await import('../version.ts')
      const { node, tz } = process.versions as { node: string; tz?: string }
      process.stdout.write(
        json ? `${JSON.stringify({ belfry: VERSION, node, timeZoneData: tz ?? null })}\n` : `${VERSION}\n`,
      )
    })
}
