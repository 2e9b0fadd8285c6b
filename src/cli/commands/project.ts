import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
Examples:
  belfry project show
  belfry project limit --min-period 1m --max-ahead 365d
`

const LIMIT_HELP = `
Tasks that exist go on as they are; what is created or rescheduled must keep to it. An empty value takes
a limit away.

Examples:
  belfry project limit --min-period 1m
  belfry project limit --max-ahead ''
`

/** Commands for the project: what its tasks may be. */
export function projectCommand(program: Command): void {
  const group = program
    .command('project')
    .usage('<command> [options]')
    .description('Show and set what tasks may be')
    .helpOption('-h, --help', 'Show help; also after a command')
    .addHelpText('after', HELP)
  addClientFlags(group.command('show').description('Show the limits of the project')).action(async (flags) =>
    (await import('../handlers/project.ts')).showProject(flags),
  )
  const limit = group
    .command('limit')
    .description('Limit how often tasks may be due, and how far ahead')
    .option('--min-period <time>', 'Tasks may be due so often and not more often')
    .option('--max-ahead <time>', 'The next time may lie so far ahead and not further')
  addClientFlags(limit)
    .addHelpText('after', LIMIT_HELP)
    .action(async (flags) => (await import('../handlers/project.ts')).limitProject(flags))
}
