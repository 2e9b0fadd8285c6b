import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
Examples:
  belfry blackout add freeze --from 2026-12-24T00:00:00Z --to 2027-01-02T00:00:00Z
  belfry blackout list
  belfry blackout remove freeze
`

const ADD_HELP = `
What comes due within is skipped and says so, or with --effect defer runs once at the end. Runs that are
triggered run all the same.

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

/** Commands for blackouts: times in which nothing of the project fires. */
export function blackoutCommand(program: Command): void {
  const group = program
    .command('blackout')
    .alias('blackouts')
    .usage('<command> [options]')
    .description('Times in which nothing fires: list, add and remove them')
    .helpOption('-h, --help', 'Show help; also after a command')
    .addHelpText('after', HELP)
  addClientFlags(
    group.command('list').alias('ls').description('List blackouts, with those that hold now'),
  ).action(async (flags) => (await import('../handlers/blackouts.ts')).listBlackouts(flags))
  const add = group
    .command('add')
    .alias('create')
    .description('Let nothing fire within a window')
    .argument('<name>', 'What to call it')
    .option('--from <when>', 'An instant; with --days a wall time such as 22:00')
    .option('--to <when>', 'The same, where it ends')
    .option('--days <days>', 'Every week on these: mon,tue,wed,thu,fri,sat,sun')
    .option('--cron <expression>', 'From each instant that it matches')
    .option('--duration <time>', 'So long, with --cron')
    .option('--timezone <zone>', "Of --days and --cron (default: this machine's)")
    .option('--effect <effect>', 'skip (default), or defer: the latest of each task runs at the end')
  addClientFlags(add)
    .addHelpText('after', ADD_HELP)
    .action(async (name, flags) => (await import('../handlers/blackouts.ts')).addBlackout(name, flags))
  const remove = group
    .command('remove')
    .alias('rm')
    .description('Let everything fire again, at once if it holds now')
    .argument('<blackout>', 'Its id, the first 8 characters of it, or its name where only one has it')
  addClientFlags(addYesFlag(remove))
    .addHelpText('after', REMOVE_HELP)
    .action(async (ref, flags) => (await import('../handlers/blackouts.ts')).removeBlackout(ref, flags))
}
