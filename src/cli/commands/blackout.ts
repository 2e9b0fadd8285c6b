import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
Examples:
  belfry blackout add freeze --from 2026-12-24T00:00:00Z --to 2027-01-02T00:00:00Z
  belfry blackout list
  belfry blackout remove freeze
`

const ADD_HELP = `
Occurrences within the window are recorded as skipped; with --effect defer the latest one of each
task runs when the window ends. Manual triggers are not affected.

Examples:
  belfry blackout add freeze --from 2026-12-24T00:00:00Z --to 2027-01-02T00:00:00Z
  belfry blackout add nights --days mon,tue,wed,thu,fri --from 22:00 --to 06:00 --timezone Europe/Vienna
  belfry blackout add deploys --cron '0 14 * * TUE' --duration 90m --effect defer
`

const REMOVE_HELP = `
Examples:
  belfry blackout remove freeze
  belfry blackout remove freeze --yes
`

/** Commands for blackouts: windows in which no schedule of the project fires. */
export function blackoutCommand(program: Command): void {
  const group = program
    .command('blackout')
    .alias('blackouts')
    .usage('<command> [options]')
    .description('Manage blackouts, the windows in which no schedule fires')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  addClientFlags(
    group.command('list').alias('ls').description('List blackouts and whether they are in force'),
  ).action(async (flags) => (await import('../handlers/blackouts.ts')).listBlackouts(flags))
  const add = group
    .command('add')
    .alias('create')
    .description('Add a window in which no schedule fires')
    .argument('<name>', 'Name of the blackout')
    .option('--from <when>', 'Start: a timestamp, or with --days a wall-clock time such as 22:00')
    .option('--to <when>', 'End, in the same form as --from')
    .option('--days <days>', 'Repeat weekly on these days: mon,tue,wed,thu,fri,sat,sun')
    .option('--cron <expression>', 'Start the window at each match of this expression')
    .option('--duration <time>', 'Length of the window (with --cron)')
    .option('--timezone <zone>', "Time zone of --days and --cron (default: this machine's)")
    .option(
      '--effect <effect>',
      'skip (default), or defer: run the latest occurrence of each task at the end',
    )
  addClientFlags(add)
    .addHelpText('after', ADD_HELP)
    .action(async (name, flags) => (await import('../handlers/blackouts.ts')).addBlackout(name, flags))
  const remove = group
    .command('remove')
    .alias('rm')
    .description('Remove a blackout; deferred runs start immediately')
    .argument('<blackout>', 'Id (or at least its first 8 characters), or unique name')
  addClientFlags(addYesFlag(remove))
    .addHelpText('after', REMOVE_HELP)
    .action(async (ref, flags) => (await import('../handlers/blackouts.ts')).removeBlackout(ref, flags))
}
