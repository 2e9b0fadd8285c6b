import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
Examples:
  belfry project show
  belfry project limit --min-period 1m --max-ahead 365d
`

const LIMIT_HELP = `
Limits apply to tasks that are created or rescheduled from now on; existing tasks are not
affected. An empty value removes a limit.

Examples:
  belfry project limit --min-period 1m
  belfry project limit --max-ahead ''
`

/** Commands for the project: what its tasks may be. */
export function projectCommand(program: Command): void {
  const group = program
    .command('project')
    .usage('<command> [options]')
    .description('Show and set project limits')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  addClientFlags(group.command('show').description('Show the limits of the project')).action(async (flags) =>
    (await import('../handlers/project.ts')).showProject(flags),
  )
  const limit = group
    .command('limit')
    .description('Limit how often and how far ahead tasks can be due')
    .option('--min-period <time>', 'Minimum time between two occurrences of a task')
    .option('--max-ahead <time>', 'Maximum time until the next occurrence')
  addClientFlags(limit)
    .addHelpText('after', LIMIT_HELP)
    .action(async (flags) => (await import('../handlers/project.ts')).limitProject(flags))
}
