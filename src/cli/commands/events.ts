import { type Command, Option } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
Each run that ends is told once, on a line; with --json one object a line, a CloudEvent. A connection that breaks
is made again and nothing is left out. Ctrl-C ends it.

Examples:
  belfry events
  belfry events --state permanently_failed --since 1h
  belfry events --task hello --count 1 --field data.run.state
`

/** Follows what ends, as it ends. */
export function eventsCommand(program: Command): void {
  const command = program
    .command('events')
    .alias('tail')
    .description('Follow what becomes of runs, as they end')
    .option('--task <task>', 'Of one task: its id, its key, or its name')
    .option('--state <state>', 'completed, permanently_failed, cancelled or skipped')
    .option('--tag <tag>', 'Of tasks with this tag')
    .option('--type <action>', 'Of tasks with such an action')
    .option('--queue <name>', 'Of tasks in this queue')
    .option('--owner <who>', 'Of tasks of this owner')
    .option('--since <duration>', 'Begin with what ended so long ago, such as 5m or 1d; or at an instant')
    .option('--after <id>', 'Begin behind the event with this id')
    .option('--count <n>', 'End after so many')
    // What it does anyway, and what many will type.
    .addOption(new Option('-f, --follow').hideHelp())
  addClientFlags(command)
    .addHelpText('after', HELP)
    .action(async (flags) => (await import('../handlers/events.ts')).followEvents(flags))
}
