import type { Command } from 'commander'
import { addClientFlags } from '../client/output.ts'

const HELP = `
A dead letter is a run that failed permanently and was neither rerun nor dismissed.

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
Each dead letter is rerun once, as a new run, even if a node dies. Without a filter the command
applies to all dead letters and asks for confirmation. With --wait, exits with 7 if the redrive
does not complete.

Examples:
  belfry dead-letter redrive --task morning --since 1h --dry-run
  belfry dead-letter redrive --fingerprint 3f1c0a9b7e25d4c8 --rate 5 --wait
`

const DISMISS_HELP = `
Dismissed dead letters leave the list but stay in history. The command always asks for
confirmation.

Examples:
  belfry dead-letter dismiss --task morning --dry-run
  belfry dead-letter dismiss --task morning --yes
`

/** Commands for dead letters: runs that failed permanently. */
export function deadLetterCommand(program: Command): void {
  const group = program
    .command('dead-letter')
    .alias('dead-letters')
    .usage('<command> [options]')
    .description('List permanently failed runs, rerun or dismiss them')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const list = which(group.command('list').alias('ls').description('List dead letters in groups'))
    .option('--by <what>', 'Group by error (default), task or hour')
    .option('--limit <n>', 'Maximum number of groups', '50')
  addClientFlags(list)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/dead-letters.ts')).listDeadLetters(flags))
  const redrive = which(group.command('redrive').description('Rerun dead letters at a limited rate'))
    .option('--run <id>', 'Only this run; repeatable', collect)
    .option('--rate <n>', 'Maximum reruns per second (default: 10)')
    .option('--dry-run', 'Only show how many would be affected')
    .option('--wait', 'Wait until the redrive ends')
    .option('-y, --yes', 'Do not ask for confirmation')
  addClientFlags(redrive)
    .addHelpText('after', REDRIVE_HELP)
    .action(async (flags) => (await import('../handlers/dead-letters.ts')).redriveDeadLetters(flags))
  const dismiss = which(group.command('dismiss').description('Remove dead letters from the list'))
    .option('--run <id>', 'Only this run; repeatable', collect)
    .option('--dry-run', 'Only show how many would be affected')
    .option('-y, --yes', 'Do not ask for confirmation')
  addClientFlags(dismiss)
    .addHelpText('after', DISMISS_HELP)
    .action(async (flags) => (await import('../handlers/dead-letters.ts')).dismissDeadLetters(flags))
}

const which = (command: Command) =>
  command
    .option('--task <task>', 'Only runs of this task: id, key or name')
    .option('--fingerprint <hex>', 'Only runs that failed with this error')
    .option('--since <duration>', 'Only runs that ended within this time, such as 1h or 2d')
    .option('--from <instant>', 'Only runs that ended at or after this time')
    .option('--to <instant>', 'Only runs that ended before this time')

const collect = (value: string, before: readonly string[] = []) => [...before, value]
