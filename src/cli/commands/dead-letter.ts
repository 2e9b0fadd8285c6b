import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
A dead letter is a run that failed for good and that nobody has seen to.

Examples:
  belfry dead-letter list
  belfry dead-letter redrive --fingerprint 3f1c0a9b7e25d4c8 --rate 5 --wait
`

const LIST_HELP = `
Examples:
  belfry dead-letter list --since 1d
  belfry dead-letter list --by task --json
`

const REDRIVE_HELP = `
Each is run again as a new run, none of them twice, and goes on though a node dies. Without any of the flags that
say which, all of them are meant, and it asks first. With --wait it ends with 7 when it does not get to the end.

Examples:
  belfry dead-letter redrive --task morning --since 1h --dry-run
  belfry dead-letter redrive --fingerprint 3f1c0a9b7e25d4c8 --rate 5 --wait
`

const DISMISS_HELP = `
They leave the list and stay in history. It asks first, also where flags say which.

Examples:
  belfry dead-letter dismiss --task morning --dry-run
  belfry dead-letter dismiss --task morning --yes
`

/** Commands for dead letters: what failed for good. */
export function deadLetterCommand(program: Command): void {
  const group = program
    .command('dead-letter')
    .alias('dead-letters')
    .usage('<command> [options]')
    .description('Runs that failed for good: list them by cause, run them again')
    .helpOption('-h, --help', 'Show help; also after a command')
    .addHelpText('after', HELP)
  const list = which(group.command('list').alias('ls').description('List dead letters, grouped'))
    .option('--by <what>', 'error (default), task or hour')
    .option('--limit <n>', 'At most so many groups', '50')
  addClientFlags(list)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/dead-letters.ts')).listDeadLetters(flags))
  const redrive = which(group.command('redrive').description('Run dead letters again, so many a second'))
    .option('--run <id>', 'This run; may be repeated', collect)
    .option('--rate <n>', 'Runs a second (default: 10)')
    .option('--dry-run', 'Only say how many it would be')
    .option('--wait', 'Until all of them were asked to run again')
    .option('-y, --yes', 'Do not ask')
  addClientFlags(redrive)
    .addHelpText('after', REDRIVE_HELP)
    .action(async (flags) => (await import('../handlers/dead-letters.ts')).redriveDeadLetters(flags))
  const dismiss = which(group.command('dismiss').description('Take dead letters off the list'))
    .option('--run <id>', 'This run; may be repeated', collect)
    .option('--dry-run', 'Only say how many it would be')
    .option('-y, --yes', 'Do not ask')
  addClientFlags(dismiss)
    .addHelpText('after', DISMISS_HELP)
    .action(async (flags) => (await import('../handlers/dead-letters.ts')).dismissDeadLetters(flags))
}

const which = (command: Command) =>
  command
    .option('--task <task>', 'Of one task: its id, its key, or its name')
    .option('--fingerprint <hex>', 'Those that failed like this')
    .option('--since <duration>', 'Those that ended since so long ago, such as 1h or 2d')
    .option('--from <instant>', 'Those that ended at this instant or later')
    .option('--to <instant>', 'Those that ended before this instant')

const collect = (value: string, before: readonly string[] = []) => [...before, value]
