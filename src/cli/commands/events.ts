import { type Command, Option } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
Prints one line for each run that ends; with --json one CloudEvent per line. After a lost
connection the command reconnects and continues without gaps. Press Ctrl-C to stop.

Examples:
  belfry events
  belfry events --state permanently_failed --since 1h
  belfry events --task hello --count 1 --field data.run.state
`

/** Command that follows runs as they end. */
export function eventsCommand(program: Command): void {
  const command = program
    .command('events')
    .alias('tail')
    .description('Follow runs as they end')
    .option('--task <task>', 'Only runs of this task: id, key or name')
    .option('--state <state>', 'Only this state: completed, permanently_failed, cancelled or skipped')
    .option('--tag <tag>', 'Only tasks with this tag')
    .option('--type <action>', 'Only tasks with this type of action')
    .option('--queue <name>', 'Only tasks in this queue')
    .option('--owner <who>', 'Only tasks of this owner')
    .option('--since <duration>', 'Start this long ago, such as 5m or 1d, or at a timestamp')
    .option('--after <id>', 'Start after the event with this id')
    .option('--count <n>', 'Exit after this many events')
    // Accepted because users of `tail` expect it; the command always follows.
    .addOption(new Option('-f, --follow').hideHelp())
  addClientFlags(command)
    .addHelpText('after', HELP)
    .action(async (flags) => (await import('../handlers/events.ts')).followEvents(flags))
}
